/* The module reactors_runtime._doors: what a reaction does most, as Python objects in C.
 *
 * A Door is the part of a live port, timer or action through which a reaction reads and writes. The core opens it,
 * one byte, before a reaction that declared it runs, and closes it afterwards; `where` says which value is meant. In
 * Python each look through a door took some three hundred nanoseconds, most of what a small reaction did. Whatever is
 * not the common case is left to methods of the Python class on top: _get, _put, _delay_ns, and _refuse, _assigned, _miscalled;
 * of a multiport _picked, _counted, _gone_through, _gathered and _set_each.
 *
 * The values of a port lie in a list whose length is a power of two; value number n is at n modulo that length. Ports whose
 * one value never outlives its tag share a list, and have a place there each.
 *
 * Of a multiport, whose channels are Doors of their own, `door` and `where` are those of channel 0 if the others follow, `values`
 * are the channels, `views` and `slots` blocks whose rows are the channels' slots, by the number of the slot. */
#include "content.h"
#include "loop.h"
#include "record.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h>

/* How a value is set: by _put; in the list; into the array for it; into a record for other processes, and in the list. */
enum { CALLS = 0, KEEPS = 1, COPIES = 2, SENDS = 3 };

typedef struct {              /* what most need first, for all of it is seldom in a cache */
    PyObject_HEAD
    uint8_t *door;            /* NULL: at rest */
    const uint64_t *where;    /* the number of the value that is read or written */
    const uint64_t *low;      /* of a value that travels: those before this number are not needed any more */
    PyObject *values;         /* list: what is read; NULL: _get knows */
    uint32_t place;           /* of value 0 in the list */
    char sets;
    uint32_t n;               /* channels of a multiport whose doors follow one another; else 0 */
    PyObject *slots;          /* COPIES: list of arrays to write into */
    PyObject *views;          /* a multiport's: of blocks to read */
    uint64_t *hash;           /* of an object that is set, in the journal; NULL: there is none */
    uint8_t *records;         /* of values that go to another process, or come from one; NULL: there are none */
    uint64_t stride;          /* bytes from one to the next */
    rx_worker *core;
    PyObject *engine;         /* for the Python class on top, which calls it _engine; */
    PyObject *store;          /* _store, */
    uint32_t number;          /* and _door */
    uint32_t action;
} Door;

static PyObject *array_type;  /* numpy.ndarray: what is never kept as it is, for its owner may change it */

static PyObject *refuse(Door *d, const char *use, const char *kind)
{
    return PyObject_CallMethod((PyObject *)d, "_refuse", "ss", use, kind);
}

static void replace(PyObject **member, PyObject *value)
{
    PyObject *old = *member;
    *member = value == Py_None ? NULL : Py_NewRef(value);
    Py_XDECREF(old);
}

static int replace_list(PyObject **member, PyObject *value)
{
    if (value != Py_None && !PyList_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "values and slots are lists");
        return -1;
    }
    replace(member, value);
    return 0;
}

static inline uint8_t state_of(const Door *d) { return d->door ? *d->door : 0; }

static inline PyObject *numbered(PyObject *list, uint64_t number)      /* borrowed */
{
    return PyList_GetItem(list, (Py_ssize_t)(number & (uint64_t)(PyList_Size(list) - 1)));
}

static PyObject *door_is_present(Door *d, void *unused)
{
    (void)unused;
    uint8_t state = state_of(d);
    if (!state) return refuse(d, "is_present", "triggers or uses");
    return PyBool_FromLong(state & RX_PRESENT);
}

static PyObject *get(Door *d) { return PyObject_CallMethod((PyObject *)d, "_get", NULL); }

/* What came from another process: its bytes, in its slot or in a copy outside of the ring. */
static const void *came(const Door *d, uint64_t *kind, uint64_t *size)
{
    uint64_t where = *d->where;
    if (where & RX_OUTSIDE) {
        const rx_copy *copy = (const rx_copy *)(uintptr_t)(where & ~RX_OUTSIDE);
        *kind = copy->kind, *size = copy->size;
        return copy + 1;
    }
    const rx_record *record = (const rx_record *)(d->records + where * d->stride);
    *kind = record->kind, *size = record->size;
    return record + 1;
}

static PyObject *received(Door *d)
{
    uint64_t kind, size;
    const void *data = came(d, &kind, &size);
    return kind == RX_PICKLED ? get(d) : rx__unpack(kind, size, data);
}

static PyObject *door_value(Door *d, void *unused)
{
    (void)unused;
    uint8_t state = state_of(d);
    if (!(state & RX_PRESENT)) {
        if (!state) return refuse(d, "value", "triggers or uses");
        Py_RETURN_NONE;
    }
    if (!d->values) return d->records ? received(d) : get(d);
    if (*d->where & RX_OUTSIDE) return get(d);
    PyObject *value = numbered(d->values, *d->where + d->place);
    Py_XINCREF(value);
    return value;
}

static int assigned(Door *d, const char *use)
{
    PyObject *never = PyObject_CallMethod((PyObject *)d, "_assigned", "s", use);
    Py_XDECREF(never);
    return -1;
}

static int door_set_value(Door *d, PyObject *value, void *unused)
{
    (void)value, (void)unused;
    return assigned(d, "value");
}

static int door_set_is_present(Door *d, PyObject *value, void *unused)
{
    (void)value, (void)unused;
    return assigned(d, "is_present");
}

/* Twice the length until it holds [count] values, those from [first] on where they belong then. */
static int grow(PyObject *list, uint64_t first, uint64_t count)
{
    uint64_t length = (uint64_t)PyList_Size(list), old = length;
    if (count <= length) return 0;
    while (length < count) {
        for (uint64_t i = 0; i < length; i++)
            if (PyList_Append(list, Py_None)) return -1;
        length *= 2;
    }
    for (uint64_t n = first; n < first + old; n++) {             /* it held these */
        uint64_t from = n & (old - 1), to = n & (length - 1);
        if (from == to) continue;
        PyObject *value = PyList_GetItem(list, (Py_ssize_t)from);
        Py_INCREF(value);
        Py_INCREF(Py_None);
        if (PyList_SetItem(list, (Py_ssize_t)to, value) || PyList_SetItem(list, (Py_ssize_t)from, Py_None)) return -1;
    }
    return 0;
}

static int keep(Door *d, PyObject *value)
{
    uint64_t number = *d->where + d->place;
    if (d->low && grow(d->values, *d->low, number - *d->low + 1)) return -1;
    Py_INCREF(value);
    return PyList_SetItem(d->values, (Py_ssize_t)(number & (uint64_t)(PyList_Size(d->values) - 1)), value);
}

/* Numbers by their type, for an array that was unpickled has another object for it than NumPy's own arrays have. */
static int same_type(const PyArray_Descr *to, const PyArray_Descr *from)
{
    if (to == from) return 1;
    int type = to->type_num, simple = PyTypeNum_ISNUMBER(type) || PyTypeNum_ISBOOL(type);
    return simple && type == from->type_num && PyArray_ISNBO(to->byteorder) && PyArray_ISNBO(from->byteorder);
}

/* An array just like the slot. */
static int copy_array(PyArrayObject *to, PyArrayObject *from)
{
    int n = PyArray_NDIM(to);
    if (!same_type(PyArray_DESCR(to), PyArray_DESCR(from)) || PyArray_NDIM(from) != n || !PyArray_IS_C_CONTIGUOUS(from) || !n) return 0;
    for (int i = 0; i < n; i++) {
        if (PyArray_DIM(from, i) != PyArray_DIM(to, i)) return 0;
        if (!PyArray_DIM(to, i)) return 1;                       /* nothing to copy, whatever the strides */
    }
    size_t bytes = (size_t)(PyArray_DIM(to, 0) * PyArray_STRIDE(to, 0));     /* a slot's memory has no gaps */
    memmove(PyArray_DATA(to), PyArray_DATA(from), bytes);        /* what is set may be a part of the slot */
    return 1;
}

/* One number, where its type is that of the slot. */
static int copy_number(PyArrayObject *to, PyObject *value)
{
    if (!PyArray_ISNBO(PyArray_DESCR(to)->byteorder)) return 0;
    if (PyFloat_CheckExact(value)) {
        double x = PyFloat_AsDouble(value);
        if (PyArray_TYPE(to) == NPY_DOUBLE) *(double *)PyArray_DATA(to) = x;
        else if (PyArray_TYPE(to) == NPY_FLOAT && (isinf(x) || !isinf((float)x))) *(float *)PyArray_DATA(to) = (float)x;
        else return 0;
        return 1;
    }
    if ((value == Py_True || value == Py_False) && PyArray_TYPE(to) == NPY_BOOL) {
        *(npy_bool *)PyArray_DATA(to) = value == Py_True;
        return 1;
    }
    if (PyLong_CheckExact(value) && PyArray_TYPE(to) == NPY_INT64) {
        int overflow;
        int64_t n = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (!overflow) *(int64_t *)PyArray_DATA(to) = n;
        return !overflow;
    }
    return 0;
}

static PyObject *element(PyObject *sequence, Py_ssize_t i)     /* borrowed, of a tuple or a list */
{
    return PyTuple_CheckExact(sequence) ? PyTuple_GetItem(sequence, i) : PyList_GetItem(sequence, i);
}

/* A short row of numbers: all are looked at before the first is written, for the slot may hold a value. */
static int copy_row(PyArrayObject *to, PyObject *row)
{
    union { double number; int64_t count; } items[8];
    Py_ssize_t n = PySequence_Size(row);
    int type = PyArray_TYPE(to);
    if (PyArray_NDIM(to) != 1 || PyArray_DIM(to, 0) != n || n > 8 || !PyArray_ISNBO(PyArray_DESCR(to)->byteorder)) return 0;
    if (type != NPY_DOUBLE && type != NPY_FLOAT && type != NPY_INT64) return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = element(row, i);
        int lost = 0;
        if (type == NPY_INT64 && PyLong_CheckExact(item)) items[i].count = PyLong_AsLongLongAndOverflow(item, &lost);
        else if (type != NPY_INT64 && PyFloat_CheckExact(item)) items[i].number = PyFloat_AsDouble(item);
        else return 0;
        if (type == NPY_FLOAT) lost = isinf((float)items[i].number) && !isinf(items[i].number);
        if (lost) return 0;
    }
    if (type != NPY_FLOAT) memcpy(PyArray_DATA(to), items, (size_t)n * sizeof *items);
    else for (Py_ssize_t i = 0; i < n; i++) ((float *)PyArray_DATA(to))[i] = (float)items[i].number;
    return 1;
}

/* 1: it went into the slot, 0: Python has to see to it. */
static int copy(Door *d, PyObject *value)
{
    PyObject *slot = numbered(d->slots, *d->where);
    if (value == slot) return 1;                                 /* the loan: it is there already */
    if ((PyObject *)Py_TYPE(value) == array_type) return copy_array((PyArrayObject *)slot, (PyArrayObject *)value);
    if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) return copy_row((PyArrayObject *)slot, value);
    return PyArray_NDIM((PyArrayObject *)slot) ? 0 : copy_number((PyArrayObject *)slot, value);
}

/* 1: it went into the record, and is here for readers on this worker; 0: it has to be pickled; -1: an exception is set. */
static int deliver(Door *d, PyObject *value)
{
    rx_record *record = (rx_record *)(d->records + *d->where * d->stride);
    if (!rx__pack(record, d->stride - sizeof *record, value)) return 0;
    return keep(d, value) ? -1 : 1;
}

static PyObject *miscalled(Door *d, const char *form, Py_ssize_t given, PyObject *name)
{
    return PyObject_CallMethod((PyObject *)d, "_miscalled", "snO", form, given, name ? name : Py_None);
}

static int named(PyObject *names, Py_ssize_t i, const char *name)
{
    return !PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, i), name);
}

/* 0, or -1 with an exception. */
static int set(Door *d, PyObject *value)
{
    if (!(state_of(d) & RX_WRITABLE)) {
        PyObject *never = refuse(d, "set", "effects");
        Py_XDECREF(never);
        return -1;
    }
    int is_set = 0;
    if (d->sets == COPIES) is_set = copy(d, value);
    else if (d->sets == SENDS) is_set = deliver(d, value);
    else if (d->sets == KEEPS && (PyObject *)Py_TYPE(value) != array_type) is_set = keep(d, value) ? -1 : 1;
    if (!is_set) {
        PyObject *done = PyObject_CallMethod((PyObject *)d, "_put", "(O)", value);
        is_set = done ? 1 : -1;
        Py_XDECREF(done);
    }
    if (is_set > 0 && d->hash && rx__content(value, d->hash)) is_set = -1;
    if (is_set > 0) *d->door |= RX_PRESENT;
    return is_set > 0 ? 0 : -1;
}

/* The one argument of set, borrowed; NULL with an exception. */
static PyObject *argument_of_set(Door *d, PyObject *const *arguments, Py_ssize_t n, PyObject *names)
{
    Py_ssize_t n_names = names ? PyTuple_Size(names) : 0;
    PyObject *wrong = n_names && !named(names, 0, "value") ? PyTuple_GetItem(names, 0) : NULL;
    if (!wrong && n + n_names == 1) return arguments[0];
    PyObject *never = miscalled(d, "set(value)", n + n_names, wrong);
    Py_XDECREF(never);
    return NULL;
}

/* set(value) */
static PyObject *door_set(Door *d, PyObject *const *arguments, Py_ssize_t n, PyObject *names)
{
    PyObject *value = argument_of_set(d, arguments, n, names);
    if (!value || set(d, value)) return NULL;
    Py_RETURN_NONE;
}

/* ---- multiports ---- */

/* The block in which all channels lie as rows, borrowed; NULL: they do not, or not all are [state]. */
static PyObject *block(Door *d, PyObject *blocks, uint8_t state)
{
    if (!d->n || !blocks) return NULL;
    for (uint32_t i = 0; i < d->n; i++)
        if (!(d->door[i] & state) || d->where[i] != *d->where) return NULL;
    return *d->where < (uint64_t)PyList_Size(blocks) ? PyList_GetItem(blocks, (Py_ssize_t)*d->where) : NULL;
}

/* The number that a channel carries, of NumPy's type [*type], into [to]; 0: it carries none, or is not asked like that. */
static int number_of(const Door *channel, int *type, void *to)
{
    if (!(state_of(channel) & RX_PRESENT)) return 0;
    if (channel->values) {
        uint64_t where = *channel->where;
        return where & RX_OUTSIDE ? 0 : rx__number(numbered(channel->values, where + channel->place), type, to);
    }
    if (!channel->records) return 0;
    uint64_t kind, size;
    const void *data = came(channel, &kind, &size);
    return rx__number_at(kind, data, type, to);
}

/* What the channels carry, numbers of one type, as an array; NULL without an exception: they carry something else. */
static PyObject *numbers(Door *d)
{
    npy_intp n = d->values ? PyList_Size(d->values) : 0;
    int type = NPY_NOTYPE, other;
    int64_t number;
    if (!n || !number_of((Door *)PyList_GetItem(d->values, 0), &type, &number)) return NULL;
    PyArrayObject *all = (PyArrayObject *)PyArray_SimpleNew(1, &n, type);
    if (!all) return NULL;
    char *to = PyArray_BYTES(all);
    npy_intp step = PyArray_STRIDE(all, 0);
    for (npy_intp i = 0; i < n; i++, to += step)
        if (!number_of((Door *)PyList_GetItem(d->values, i), &other, &number) || other != type) {
            Py_DECREF(all);
            return NULL;
        } else memcpy(to, &number, (size_t)step);
    PyArray_CLEARFLAGS(all, NPY_ARRAY_WRITEABLE);
    return (PyObject *)all;
}

static PyObject *door_array(Door *d, void *unused)
{
    (void)unused;
    PyObject *all = block(d, d->views, RX_PRESENT);
    if (all) return Py_NewRef(all);
    all = numbers(d);
    return all || PyErr_Occurred() ? all : PyObject_CallMethod((PyObject *)d, "_gathered", NULL);
}

static int door_set_array(Door *d, PyObject *value, void *unused)
{
    (void)value, (void)unused;
    return assigned(d, "array");
}

static PyObject *door_states(Door *d, PyObject *unused)
{
    (void)unused;
    return d->n ? PyBytes_FromStringAndSize((const char *)d->door, d->n) : Py_NewRef(Py_None);
}

static PyObject *door_item(Door *d, PyObject *index)
{
    Py_ssize_t i = PyLong_CheckExact(index) ? PyLong_AsSsize_t(index) : -1;
    if (d->values && i >= 0 && i < PyList_Size(d->values)) return Py_NewRef(PyList_GetItem(d->values, i));
    PyErr_Clear();
    return PyObject_CallMethod((PyObject *)d, "_picked", "(O)", index);
}

static PyObject *door_length(Door *d, PyObject *unused)
{
    (void)unused;
    return d->values ? PyLong_FromSsize_t(PyList_Size(d->values)) : PyObject_CallMethod((PyObject *)d, "_counted", NULL);
}

static PyObject *door_iterator(Door *d, PyObject *unused)
{
    (void)unused;
    return d->values ? PyObject_GetIter(d->values) : PyObject_CallMethod((PyObject *)d, "_gone_through", NULL);
}

static PyObject *door_own_block(Door *d, PyObject *unused)
{
    (void)unused;
    PyObject *all = block(d, d->slots, RX_WRITABLE);
    return Py_NewRef(all ? all : Py_None);
}

static int set_channel(PyObject *channel, PyObject *value)
{
    Door *d = (Door *)channel;
    if (d->door) return set(d, value);
    PyObject *done = PyObject_CallMethod(channel, "set", "(O)", value);       /* it is no live one: an error */
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* set(values), one for each channel */
static PyObject *door_set_all(Door *d, PyObject *const *arguments, Py_ssize_t n, PyObject *names)
{
    PyObject *given = argument_of_set(d, arguments, n, names), *all = block(d, d->slots, RX_WRITABLE);
    if (!given) return NULL;
    int is_array = (PyObject *)Py_TYPE(given) == array_type;
    if (all && (given == all || (is_array && copy_array((PyArrayObject *)all, (PyArrayObject *)given)))) {
        for (uint32_t i = 0; i < d->n; i++) d->door[i] |= RX_PRESENT;
        Py_RETURN_NONE;
    }
    Py_ssize_t channels = d->values ? PyList_Size(d->values) : -1;            /* kept beyond the run: Python says what is wrong */
    if ((!is_array && !PyList_CheckExact(given) && !PyTuple_CheckExact(given)) || PySequence_Size(given) != channels) {
        PyErr_Clear();
        return PyObject_CallMethod((PyObject *)d, "_set_each", "(O)", given);
    }
    for (Py_ssize_t i = 0; i < channels; i++) {
        PyObject *value = PySequence_GetItem(given, i);
        int failed = !value || set_channel(PyList_GetItem(d->values, i), value);
        Py_XDECREF(value);
        if (failed) return NULL;
    }
    Py_RETURN_NONE;
}

/* _attach_all(door, where, n, channels, views, slots) */
static PyObject *door_attach_all(Door *d, PyObject *arguments)
{
    unsigned long long door, where;
    PyObject *engine, *channels, *views, *own;
    if (!PyArg_ParseTuple(arguments, "OKKIOOO", &engine, &door, &where, &d->n, &channels, &views, &own)) return NULL;
    if (replace_list(&d->values, channels) || replace_list(&d->views, views) || replace_list(&d->slots, own)) return NULL;
    replace(&d->engine, engine);
    d->door = (uint8_t *)(uintptr_t)door;
    d->where = (uint64_t *)(uintptr_t)where;
    Py_RETURN_NONE;
}

static PyObject *door_keep(Door *d, PyObject *value)
{
    if (keep(d, value)) return NULL;
    Py_RETURN_NONE;
}

/* loan() */
static PyObject *door_loan(Door *d, PyObject *const *arguments, Py_ssize_t n, PyObject *names)
{
    (void)arguments;
    Py_ssize_t given = n + (names ? PyTuple_Size(names) : 0);
    if (given) return miscalled(d, "loan()", given, NULL);
    if (!(state_of(d) & RX_WRITABLE)) return refuse(d, "loan", "effects");
    PyObject *slot = numbered(d->slots, *d->where);
    Py_XINCREF(slot);
    return slot;
}

/* Nanoseconds, -1: an exception is set. */
static int64_t nanoseconds(Door *d, PyObject *delay)
{
    if (!delay) return 0;
    if (PyLong_CheckExact(delay)) {
        int overflow;
        int64_t ns = PyLong_AsLongLongAndOverflow(delay, &overflow);
        if (!overflow && ns >= 0) return ns;
    }
    PyObject *ns = PyObject_CallMethod((PyObject *)d, "_delay_ns", "(O)", delay);
    if (!ns) return -1;
    int64_t result = PyLong_AsLongLong(ns);
    Py_DECREF(ns);
    return result;
}

static const char SCHEDULE[] = "schedule(value, delay=...)";

/* The journal has what is scheduled; 0, or -1 with an exception. */
static int journaled(const Door *d, PyObject *value)
{
    rx_noted *noted = rx_noted_now(d->core);
    uint64_t h;
    if (!noted || value == Py_None) return 0;
    if (rx__content(value, &h)) return -1;
    noted->scheduled = rx_fold(noted->scheduled, h);
    return 0;
}

static PyObject *door_schedule(Door *d, PyObject *const *arguments, Py_ssize_t n, PyObject *names)
{
    PyObject *given[2] = {Py_None, NULL};
    Py_ssize_t n_names = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < n && i < 2; i++) given[i] = arguments[i];
    for (Py_ssize_t i = 0; i < n_names; i++) {
        int at = named(names, i, "value") ? 0 : named(names, i, "delay") ? 1 : 2;
        if (at == 2) return miscalled(d, SCHEDULE, n + n_names, PyTuple_GetItem(names, i));
        if (at < n) return miscalled(d, SCHEDULE, n + n_names, NULL);
        given[at] = arguments[n + i];
    }
    if (n > 2) return miscalled(d, SCHEDULE, n + n_names, NULL);
    int64_t ns = nanoseconds(d, given[1]);
    if (ns < 0 && PyErr_Occurred()) return NULL;
    if (!(state_of(d) & RX_WRITABLE)) return refuse(d, "schedule", "effects");
    PyObject *value = given[0];
    int is_array = (PyObject *)Py_TYPE(value) == array_type;
    value = is_array ? PyObject_CallMethod((PyObject *)d, "_frozen", "(O)", value) : (Py_INCREF(value), value);
    if (!value) return NULL;
    if (journaled(d, value)) {
        Py_DECREF(value);
        return NULL;
    }
    int64_t number = rx_schedule(d->core, d->action, ns, value != Py_None);
    if (number <= 0) {
        Py_DECREF(value);
        Py_RETURN_NONE;       /* no value, or the program stops before */
    }
    if (grow(d->values, 0, (uint64_t)number + 1)) {
        Py_DECREF(value);
        return NULL;
    }
    if (PyList_SetItem(d->values, (Py_ssize_t)number, value)) return NULL;
    Py_RETURN_NONE;
}

/* _attach(engine, store, number, door, where, low, values, place, slots, records, stride, sets, core, action): addresses are integers */
static PyObject *door_attach(Door *d, PyObject *arguments)
{
    unsigned long long door, where, low, records, stride, core;
    PyObject *engine, *store, *values, *slots;
    int sets;
    unsigned action, number, place;
    if (!PyArg_ParseTuple(arguments, "OOIKKKOIOKKiKI", &engine, &store, &number, &door, &where, &low, &values, &place, &slots, &records,
                          &stride, &sets, &core, &action))
        return NULL;
    if (replace_list(&d->values, values) || replace_list(&d->slots, slots)) return NULL;
    replace(&d->engine, engine);
    replace(&d->store, store);
    d->number = number;
    d->place = place;
    d->door = (uint8_t *)(uintptr_t)door;
    d->where = (uint64_t *)(uintptr_t)where;
    d->low = (uint64_t *)(uintptr_t)low;
    d->records = (uint8_t *)(uintptr_t)records;
    d->stride = stride;
    d->sets = (char)sets;
    d->hash = sets == KEEPS || sets == SENDS ? rx_hash_of((rx_worker *)(uintptr_t)core, number) : NULL;
    d->core = (rx_worker *)(uintptr_t)core;
    d->action = action;
    Py_RETURN_NONE;
}

static PyObject *door_detach(Door *d, PyObject *unused)
{
    (void)unused;
    d->door = NULL;
    d->hash = NULL;
    d->core = NULL;
    d->n = 0;
    replace(&d->values, Py_None);
    replace(&d->slots, Py_None);
    replace(&d->views, Py_None);
    replace(&d->store, Py_None);
    Py_RETURN_NONE;           /* the engine says what is wrong with the use of what is kept beyond the run */
}

static int door_traverse(Door *d, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE((PyObject *)d));
    Py_VISIT(d->values);
    Py_VISIT(d->slots);
    Py_VISIT(d->views);
    Py_VISIT(d->engine);
    Py_VISIT(d->store);
    return 0;
}

static int door_clear(Door *d)
{
    Py_CLEAR(d->values);
    Py_CLEAR(d->slots);
    Py_CLEAR(d->views);
    Py_CLEAR(d->engine);
    Py_CLEAR(d->store);
    return 0;
}

static void door_dealloc(Door *d)
{
    PyTypeObject *type = Py_TYPE((PyObject *)d);
    PyObject_GC_UnTrack(d);
    door_clear(d);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(d);
    Py_DECREF(type);
}

static PyMemberDef members[] = {
    {"_engine", T_OBJECT, offsetof(Door, engine), 0, "What runs the reactions that use it."},
    {"_store", T_OBJECT, offsetof(Door, store), READONLY, "Where its values are."},
    {"_door", T_UINT, offsetof(Door, number), READONLY, "The number of its door."},
    {0},
};

static PyGetSetDef getset[] = {
    {"_is_present", (getter)door_is_present, (setter)door_set_is_present, "Whether it is there at this tag.", NULL},
    {"_value", (getter)door_value, (setter)door_set_value, "What is there; None if nothing is.", NULL},
    {"_array", (getter)door_array, (setter)door_set_array, "All channels as one block.", NULL},
    {0},
};

static PyMethodDef methods[] = {
    {"_set", (PyCFunction)(void (*)(void))door_set, METH_FASTCALL | METH_KEYWORDS, "Put a value there."},
    {"_keep", (PyCFunction)door_keep, METH_O, "What _set does with most values: keep it as it is."},
    {"_loan", (PyCFunction)(void (*)(void))door_loan, METH_FASTCALL | METH_KEYWORDS, "The memory that the next value goes into."},
    {"_schedule", (PyCFunction)(void (*)(void))door_schedule, METH_FASTCALL | METH_KEYWORDS, "Make an action happen later."},
    {"_states", (PyCFunction)door_states, METH_NOARGS, "The doors of all channels, if they lie side by side."},
    {"_own_block", (PyCFunction)door_own_block, METH_NOARGS, "The memory that the next values go into, if it is one block."},
    {"_item", (PyCFunction)door_item, METH_O, "A channel."},
    {"_channel_count", (PyCFunction)door_length, METH_NOARGS, "How many channels there are."},
    {"_iterator", (PyCFunction)door_iterator, METH_NOARGS, "The channels, one after the other."},
    {"_set_all", (PyCFunction)(void (*)(void))door_set_all, METH_FASTCALL | METH_KEYWORDS, "Put a value into each channel."},
    {"_attach", (PyCFunction)door_attach, METH_VARARGS, "Lead to what the core has opened."},
    {"_attach_all", (PyCFunction)door_attach_all, METH_VARARGS, "Lead to the channels."},
    {"_detach", (PyCFunction)door_detach, METH_NOARGS, "Lead nowhere."},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "The part of a live port, timer or action through which reactions read and write."},
    {Py_tp_traverse, door_traverse},
    {Py_tp_clear, door_clear},
    {Py_tp_dealloc, door_dealloc},
    {Py_tp_members, members},
    {Py_tp_getset, getset},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    "reactors_runtime._doors.Door", sizeof(Door), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots,
};

static int fill(PyObject *module)
{
    import_array1(-1);
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy) return -1;
    array_type = PyObject_GetAttrString(numpy, "ndarray");
    int known = !rx__know_numpy(numpy);
    Py_DECREF(numpy);
    PyObject *type = array_type && known ? PyType_FromSpec(&spec) : NULL;
    if (!type) return -1;
    int failed = PyModule_AddObjectRef(module, "Door", type) || PyModule_AddIntMacro(module, CALLS) ||
                 PyModule_AddIntMacro(module, KEEPS) || PyModule_AddIntMacro(module, COPIES) || PyModule_AddIntMacro(module, SENDS);
    Py_DECREF(type);
    return failed ? -1 : 0;
}

static PyMethodDef functions[] = {
    {"content_hash", rx__content_hash, METH_O, "content_hash(value)\n--\n\nA hash of 64 bits of what an object holds."},
    {"run", rx__run, METH_VARARGS, "run(core, calls, unfinished)\n--\n\nCall what is next, until something is the matter."},
    {0},
};

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, fill}, {0, NULL}};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "reactors_runtime._doors", "Reading and writing through the doors that the core opens.", 0, functions, module_slots, NULL,
    NULL, NULL,
};

PyMODINIT_FUNC PyInit__doors(void) { return PyModuleDef_Init(&module); }
