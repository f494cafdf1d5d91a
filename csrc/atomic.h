/* Atomic operations on memory that several threads, perhaps of several processes, look at. The fields are plain, for
 * Python parses their declarations. While others may change them, the core touches them by these alone. */
#ifndef RX_ATOMIC_H
#define RX_ATOMIC_H

#include <stdatomic.h>
#include <stdint.h>

#ifdef __SANITIZE_THREAD__
#define RX_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RX_TSAN
#endif
#endif

static inline uint64_t rx__get(const uint64_t *p) { return atomic_load_explicit((const _Atomic uint64_t *)p, memory_order_acquire); }
static inline void rx__put(uint64_t *p, uint64_t v) { atomic_store_explicit((_Atomic uint64_t *)p, v, memory_order_release); }
static inline void rx__put_fenced(uint64_t *p, uint64_t v) { atomic_store_explicit((_Atomic uint64_t *)p, v, memory_order_seq_cst); }
static inline uint64_t rx__get_fenced(const uint64_t *p) { return atomic_load_explicit((const _Atomic uint64_t *)p, memory_order_seq_cst); }
static inline uint32_t rx__get32(const uint32_t *p) { return atomic_load_explicit((const _Atomic uint32_t *)p, memory_order_acquire); }
static inline void rx__put32(uint32_t *p, uint32_t v) { atomic_store_explicit((_Atomic uint32_t *)p, v, memory_order_release); }
static inline void rx__put32_fenced(uint32_t *p, uint32_t v) { atomic_store_explicit((_Atomic uint32_t *)p, v, memory_order_seq_cst); }
static inline uint32_t rx__get32_fenced(const uint32_t *p) { return atomic_load_explicit((const _Atomic uint32_t *)p, memory_order_seq_cst); }
static inline uint32_t rx__add32(uint32_t *p, uint32_t v) { return atomic_fetch_add_explicit((_Atomic uint32_t *)p, v, memory_order_acq_rel); }
static inline uint64_t rx__add(uint64_t *p, uint64_t v) { return atomic_fetch_add_explicit((_Atomic uint64_t *)p, v, memory_order_acq_rel); }
static inline void rx__set_bits(uint64_t *p, uint64_t v) { atomic_fetch_or_explicit((_Atomic uint64_t *)p, v, memory_order_seq_cst); }
static inline void rx__clear_bits(uint64_t *p, uint64_t v) { atomic_fetch_and_explicit((_Atomic uint64_t *)p, ~v, memory_order_seq_cst); }
static inline int rx__swap_if(uint64_t *p, uint64_t *from, uint64_t to)      /* on failure [from] is what was there */
{
    return atomic_compare_exchange_strong_explicit((_Atomic uint64_t *)p, from, to, memory_order_seq_cst, memory_order_seq_cst);
}

static inline int rx__swap_if32(uint32_t *p, uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong_explicit((_Atomic uint32_t *)p, &from, to, memory_order_seq_cst, memory_order_seq_cst);
}

static inline void rx__fence(void)
{
#ifdef RX_TSAN           /* which knows no fences */
    _Atomic uint32_t anything = 0;
    atomic_fetch_add_explicit(&anything, 0, memory_order_seq_cst);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* A fence for a clock as well: reading one is no access to memory, and on some processors passes a store before it. */
static inline void rx__settle(void)
{
#ifdef __aarch64__
    __asm__ __volatile__("dsb ish" ::: "memory");
#else
    rx__fence();
#endif
}

static inline void rx__pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

#endif
