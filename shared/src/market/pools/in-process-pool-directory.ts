import { isHeld, type LeaseTerm, type LogPosition } from '../../bus/bus.ts';
import { byDepth, poolBounds, type KnownPool, type PoolBounds, type PoolDirectory, type PoolSighting } from './pool-directory.ts';

/** The directory in this process, for as long as the process lives. */
export class InProcessPoolDirectory implements PoolDirectory {
  readonly #bounds: PoolBounds;
  /** By last sighting, oldest first. */
  readonly #mints = new Map<string, Map<string, KnownPool>>();
  #checkpoint: LogPosition | null = null;

  constructor(bounds = poolBounds) {
    this.#bounds = bounds;
  }

  async poolsOf(mint: string): Promise<readonly KnownPool[]> {
    return [...(this.#mints.get(mint)?.values() ?? [])].toSorted(byDepth);
  }

  async checkpoint(): Promise<LogPosition | null> {
    return this.#checkpoint;
  }

  async note(sightings: readonly PoolSighting[], to: LogPosition, leaseTerm: LeaseTerm): Promise<'applied' | 'fenced'> {
    if (!isHeld(leaseTerm)) return 'fenced';
    for (const sighting of sightings) this.#note(sighting);
    for (const mint of this.#mints.keys()) {
      if (this.#mints.size <= this.#bounds.mints) break;
      this.#mints.delete(mint);
    }
    this.#checkpoint = to;
    return 'applied';
  }

  #note({ mint, ...pool }: PoolSighting): void {
    const pools = this.#mints.get(mint) ?? new Map<string, KnownPool>();
    this.#mints.delete(mint);
    this.#mints.set(mint, pools);
    const known = pools.get(pool.address);
    if (known !== undefined && known.slot > pool.slot) return;
    pools.set(pool.address, pool);
    if (pools.size <= this.#bounds.poolsPerMint) return;
    const shallowest = [...pools.values()].toSorted(byDepth).at(-1);
    if (shallowest !== undefined) pools.delete(shallowest.address);
  }

  async close(): Promise<void> {
    this.#mints.clear();
  }
}
