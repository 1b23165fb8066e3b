/** Finds the entry of a path by its fixed segments, with the other segments as they were sent. */
export interface Found<T> {
  readonly value: T;
  readonly segments: readonly string[];
}

interface Node<T> {
  readonly fixed: Map<string, Node<T>>;
  parameter: Node<T> | null;
  value: T | null;
}

const noSegments: readonly string[] = [];

/** Paths with parameters (`/token/info/{mint}`): a parameter is one whole segment that is not empty; a fixed one goes before it. */
export class PathTable<T> {
  readonly #exact = new Map<string, Found<T>>();
  readonly #root: Node<T> = { fixed: new Map(), parameter: null, value: null };

  /** The value at `path`; `make` gives it where there is none yet. Two paths that differ in names of parameters only are one. */
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
      if (/^\{\w+\}$/.test(segment)) node = node.parameter ??= { fixed: new Map(), parameter: null, value: null };
      else {
        const next = node.fixed.get(segment) ?? { fixed: new Map(), parameter: null, value: null };
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

/** Depth is bounded by the table's, whatever the path. */
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
