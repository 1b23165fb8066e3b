/** The entry of a path, and the undecoded values of its parameters. */
export interface Found<T> {
  readonly value: T;
  readonly segments: readonly string[];
}

class Node<T> {
  readonly fixed = new Map<string, Node<T>>();
  parameter: Node<T> | null = null;
  value: T | null = null;
}

const noSegments: readonly string[] = [];

/** A table of paths with parameters (`/token/info/{mint}`). A parameter is one whole, non-empty segment. A fixed segment takes precedence. */
export class PathTable<T> {
  readonly #exact = new Map<string, Found<T>>();
  readonly #root = new Node<T>();

  /** The value at `path`; created by `make` if it does not exist. Paths that differ only in the names of parameters are the same. */
  at(path: string, make: () => T): T {
    if (!path.includes('{')) {
      const known = this.#exact.get(path);
      if (known !== undefined) return known.value;
      const value = make();
      this.#exact.set(path, { value, segments: noSegments });
      return value;
    }
    let node = this.#root;
    for (const segment of path.slice(1).split('/')) {
      if (/^\{\w+\}$/.test(segment)) node = node.parameter ??= new Node();
      else {
        const next: Node<T> = node.fixed.get(segment) ?? new Node();
        node.fixed.set(segment, next);
        node = next;
      }
    }
    return (node.value ??= make());
  }

  find(path: string): Found<T> | null {
    return this.#exact.get(path) ?? walk(this.#root, path, 1, noSegments);
  }
}

/** The depth is bounded by the table, even for a long path. */
function walk<T>(node: Node<T>, path: string, from: number, segments: readonly string[]): Found<T> | null {
  if (from > path.length) return node.value === null ? null : { value: node.value, segments };
  const slash = path.indexOf('/', from);
  const to = slash === -1 ? path.length : slash;
  const segment = path.slice(from, to);
  const fixed = node.fixed.get(segment);
  const found = fixed === undefined ? null : walk(fixed, path, to + 1, segments);
  if (found !== null || node.parameter === null || segment === '') return found;
  return walk(node.parameter, path, to + 1, [...segments, segment]);
}
