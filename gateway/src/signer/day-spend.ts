const dayMs = 86_400_000;

/** SOL that may leave by what was signed since the UTC day began, by wallet. The day only goes forward, whatever the clock does. */
export interface DaySpend {
  of(wallet: string, atMs: number): bigint;
  add(wallet: string, lamports: bigint, atMs: number): void;
}

export function daySpend(): DaySpend {
  const spent = new Map<string, bigint>();
  let day = 0;
  const turn = (atMs: number): void => {
    const now = Math.floor(atMs / dayMs);
    if (now <= day) return;
    day = now;
    spent.clear();
  };
  return {
    of: (wallet, atMs) => {
      turn(atMs);
      return spent.get(wallet) ?? 0n;
    },
    add: (wallet, lamports, atMs) => {
      turn(atMs);
      spent.set(wallet, (spent.get(wallet) ?? 0n) + lamports);
    },
  };
}
