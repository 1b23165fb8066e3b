import { picturedUri } from './images.ts';
import type { Random } from './random.ts';

const adjectives = 'Sleepy Golden Turbo Lucky Cosmic Tiny Grumpy Velvet Neon Salty Brave Frosty Jolly Quiet Rusty Spicy Wobbly Zesty'.split(
  ' ',
);
const nouns = 'Otter Pickle Comet Walrus Noodle Badger Teapot Falcon Muffin Panda Yeti Cactus Moth Goose Lemur Rocket Turnip Gecko'.split(
  ' ',
);

export interface CoinText {
  readonly name: string;
  readonly symbol: string;
  readonly uri: string;
}

/** A coin's name, symbol and metadata address. Each states that it is simulated. */
export function coinText(random: Random, number: number): CoinText {
  const adjective = random.pick(adjectives);
  const noun = random.pick(nouns);
  return {
    name: `Simulated ${adjective} ${noun}`.slice(0, 32),
    symbol: `SIM${adjective[0] ?? ''}${noun.slice(0, 4).toUpperCase()}`,
    uri: uriOf(number, adjective, noun),
  };
}

function uriOf(number: number, adjective: string, noun: string): string {
  if (number % fewHaveNone === 0) return `https://simnet.invalid/coin/${number}`;
  return number % 2 === 1 ? picturedUri(number) : metadataUri(adjective, noun);
}

/** The metadata of one of this many coins has an address that cannot exist: a name that is never looked up. */
const fewHaveNone = 8;

/** The metadata itself, so that nothing must be fetched. It is short, because a creation and its purchase nearly fill a transaction. */
function metadataUri(adjective: string, noun: string): string {
  return `data:application/json,${JSON.stringify({ description: `Simulated ${adjective} ${noun}, worth nothing.` })}`;
}
