/** Bytes of log lines that a node retains for one transaction. */
const logLimitBytes = 10_000;

/** Collects log lines as the node does: the first line that would exceed the limit is replaced by `Log truncated`. */
export class LogCollector {
  readonly lines: string[] = [];
  #bytes = 0;
  #warned = false;

  add(line: string): void {
    const bytes = this.#bytes + Buffer.byteLength(line);
    if (bytes >= logLimitBytes) {
      if (!this.#warned) this.lines.push('Log truncated');
      this.#warned = true;
      return;
    }
    this.#bytes = bytes;
    this.lines.push(line);
  }
}
