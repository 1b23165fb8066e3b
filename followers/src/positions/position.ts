/** What one wallet holds of one mint, and what its trades have cost and returned. Amounts are raw units, values lamports. All of it is exact. */
export interface Position {
  /** Tokens that it bought and still has. */
  readonly explained: bigint;
  /** What the explained tokens cost, with the fees of the venue. */
  readonly costLamports: bigint;
  /** Tokens that arrived without a trade of known value. They cost nothing. */
  readonly unexplained: bigint;
  /** What its sales returned, less what the sold tokens had cost. */
  readonly realizedLamports: bigint;
  /** Network fees, priority fees and tips of its orders. */
  readonly feesLamports: bigint;
  readonly buys: number;
  readonly sells: number;
  /** When its amount last rose from 0, Unix milliseconds; null before its first token. */
  readonly openedAtMs: number | null;
  /** Null if no trade has shown them. */
  readonly decimals: number | null;
  /** Explained tokens that left without a trade, and what they had cost. */
  readonly departed: bigint;
  readonly departedLamports: bigint;
}

export const noPosition: Position = {
  explained: 0n,
  costLamports: 0n,
  unexplained: 0n,
  realizedLamports: 0n,
  feesLamports: 0n,
  buys: 0,
  sells: 0,
  openedAtMs: null,
  decimals: null,
  departed: 0n,
  departedLamports: 0n,
};

/** How a trade changes what its wallet holds of one mint. */
export interface Movement {
  readonly side: 'buy' | 'sell';
  /** Tokens that reached the wallet or left it, after all fees in the token. */
  readonly tokens: bigint;
  /** What the wallet paid or received, with all fees of the venue. Null if that has no known value in SOL. */
  readonly lamports: bigint | null;
  readonly decimals: number;
  readonly atMs: number;
}

export function amountOf({ explained, unexplained }: Pick<Position, 'explained' | 'unexplained'>): bigint {
  return explained + unexplained;
}

/** Lamports for one raw token; null without bought tokens. */
export function averageCost({ explained, costLamports }: Position): number | null {
  return explained === 0n ? null : Number(costLamports) / Number(explained);
}

/** The position after a trade. A sale takes bought tokens first, and then tokens of unknown origin, which cost nothing. */
export function foldTrade(before: Position, { side, tokens, lamports, decimals, atMs }: Movement): Position {
  const position = { ...before, decimals };
  return side === 'buy' ? bought(position, tokens, lamports, atMs) : sold(position, tokens, lamports);
}

function bought(before: Position, tokens: bigint, lamports: bigint | null, atMs: number): Position {
  const position = { ...before, openedAtMs: openedAt(before, atMs), buys: before.buys + 1 };
  return lamports === null
    ? { ...position, unexplained: before.unexplained + tokens }
    : { ...position, explained: before.explained + tokens, costLamports: before.costLamports + lamports };
}

function sold(before: Position, tokens: bigint, lamports: bigint | null): Position {
  const { taken, cost, rest } = takeExplained(before, tokens);
  return {
    ...before,
    explained: before.explained - taken,
    costLamports: before.costLamports - cost,
    // The wallet may have sold tokens whose arrival nobody noticed.
    unexplained: before.unexplained - least(rest, before.unexplained),
    realizedLamports: before.realizedLamports + (lamports === null ? 0n : lamports - cost),
    sells: before.sells + 1,
  };
}

/**
 * The position after tokens arrived (`change` above 0) or left without a trade. What arrives is unexplained. What leaves is first taken from the
 * unexplained tokens. Only then do bought tokens leave, with their part of the cost, so that the average cost stays the same.
 */
export function foldTransfer(before: Position, change: bigint, atMs: number): Position {
  if (change > 0n) return { ...before, unexplained: before.unexplained + change, openedAtMs: openedAt(before, atMs) };
  const fromUnexplained = least(-change, before.unexplained);
  const { taken, cost } = takeExplained(before, -change - fromUnexplained);
  return {
    ...before,
    unexplained: before.unexplained - fromUnexplained,
    explained: before.explained - taken,
    costLamports: before.costLamports - cost,
    departed: before.departed + taken,
    departedLamports: before.departedLamports + cost,
  };
}

/**
 * The position after a trade that a check of the balance had already counted as a transfer, because the trade was reported later. The amount stays
 * the same; the trade only explains it.
 */
export function foldLateTrade(before: Position, movement: Movement): Position {
  if (movement.side === 'sell') return foldTrade(returned(before, movement.tokens), movement);
  const position = foldTrade(before, movement);
  const fromUnexplained = least(movement.tokens, before.unexplained);
  const { taken, cost } = takeExplained(position, movement.tokens - fromUnexplained);
  return {
    ...position,
    openedAtMs: before.openedAtMs ?? movement.atMs,
    unexplained: position.unexplained - fromUnexplained,
    explained: position.explained - taken,
    costLamports: position.costLamports - cost,
    // These tokens were sold since then, at a cost of nothing.
    realizedLamports: position.realizedLamports - cost,
  };
}

/** Reverses the departure of tokens. */
function returned(before: Position, tokens: bigint): Position {
  const explained = least(tokens, before.departed);
  const cost = share(before.departedLamports, explained, before.departed);
  return {
    ...before,
    explained: before.explained + explained,
    costLamports: before.costLamports + cost,
    unexplained: before.unexplained + tokens - explained,
    departed: before.departed - explained,
    departedLamports: before.departedLamports - cost,
  };
}

/** `rest`: tokens beyond the explained ones. */
function takeExplained({ explained, costLamports }: Position, tokens: bigint): { taken: bigint; cost: bigint; rest: bigint } {
  const taken = least(tokens, explained);
  return { taken, cost: share(costLamports, taken, explained), rest: tokens - taken };
}

function openedAt(before: Position, atMs: number): number {
  return amountOf(before) === 0n ? atMs : (before.openedAtMs ?? atMs);
}

function share(of: bigint, part: bigint, whole: bigint): bigint {
  return part === 0n ? 0n : (of * part) / whole;
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
