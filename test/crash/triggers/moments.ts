import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../support/gateway.ts';
import type { CrashWorld } from '../crash-world.ts';
import type { Scene } from './scene.ts';

/** Brings a scene to a moment. What it returns is called after the kill. */
export type Bring = (moment: MomentParts) => Promise<() => unknown>;

export interface MomentParts {
  readonly world: CrashWorld;
  readonly scene: Scene;
  /** From 0 up to 1; the same for the same seed. */
  readonly random: () => number;
}

export type MomentName = keyof typeof moments;

const withinMs = 120_000;
const armingMs = 250;
/** The condition must hold for half a second; the order takes some milliseconds. */
const firingMs = 900;
const wholeMs = 4_000;
const nothing = (): void => undefined;

/** A call to a node about the order of one of the wallets is held, before the node has it or before its answer arrives. */
function held(method: string, at: 'request' | 'answer'): Bring {
  return async ({ world, scene, random }) => {
    await scene.arm();
    const wallet = scene.firing[Math.floor(random() * scene.firing.length)]!;
    const hold = world.gate.hold(method, wallet, at);
    scene.rise();
    const isHeld = await Promise.race([hold.reached.then(() => true), pause(withinMs, false)]);
    if (!isHeld) throw new Error(`no ${method} of ${wallet}: ${JSON.stringify(await scene.views())}`);
    return () => hold.release();
  };
}

async function hasOrder({ db }: CrashWorld, wallets: readonly string[], states: string): Promise<boolean> {
  const places = wallets.map(() => '?').join();
  return (await db.get(`SELECT id FROM orders WHERE spend_wallet IN (${places}) AND state IN (${states}) LIMIT 1`, ...wallets)) !== null;
}

function followed(states: string): Bring {
  return async ({ world, scene }) => {
    await scene.arm();
    scene.rise();
    await until(`an order to be ${states}`, () => hasOrder(world, scene.firing, states), withinMs);
    return nothing;
  };
}

/** What a scene is doing when the process that trades is killed, in the order of its life. */
export const moments = {
  arming: async ({ scene, random }) => {
    // The kill may cut it; it is armed again afterwards.
    const armed = scene.arm();
    armed.catch(nothing);
    await pause(random() * armingMs);
    return nothing;
  },
  armed: async ({ scene }) => {
    await scene.arm();
    return nothing;
  },
  met: async ({ scene, random }) => {
    await scene.arm();
    scene.rise();
    await pause(random() * firingMs);
    return nothing;
  },
  simulating: held('simulateTransaction', 'request'),
  simulated: held('simulateTransaction', 'answer'),
  sending: held('sendTransaction', 'request'),
  sent: held('sendTransaction', 'answer'),
  submitted: followed(`'submitted', 'processed', 'confirmed', 'finalized'`),
  confirmed: followed(`'confirmed', 'finalized'`),
  children: async ({ scene, random }) => {
    await scene.arm();
    scene.rise();
    await until(
      'the ladder to be armed',
      async () => (await scene.views()).filter(({ parentId }) => parentId !== null).some(({ status }) => status === 'armed'),
      withinMs,
    );
    scene.rise();
    await pause(random() * firingMs);
    return nothing;
  },
  anywhere: async ({ scene, random }) => {
    await scene.arm();
    await pause(random() * armingMs);
    scene.rise();
    await pause(random() * wholeMs);
    return nothing;
  },
} as const satisfies Readonly<Record<string, Bring>>;
