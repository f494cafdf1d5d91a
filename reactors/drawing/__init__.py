"""Pictures of a graph: as Graphviz, as Mermaid, as SVG. Nothing here runs."""
