import { createHash } from 'node:crypto';
import type { Bus, Lease } from '@sluice/shared/bus/bus.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import type { RecordSeal } from '@sluice/gateway/auth/record-seal.ts';
import type { OrderAnswer, OrderCall } from '../order-call.ts';
import { openMailboxes } from './mailboxes.ts';
import { HandOver } from './hand-over.ts';
import { nobodyTrades } from './pending-call.ts';

export interface RoleReport {
  /** Which gateway holds the role; null while that is unknown, as it is while Redis does not answer. */
  readonly holder: Lease['holder'];
  readonly handedOver: Readonly<HandOver['counters']>;
}

/** One gateway at a time places and follows orders; the others hand their calls to it. Without Redis a gateway is alone and holds the role. */
export type TradingRole = Pick<SharedRole, 'held' | 'report' | 'isShared' | 'start' | 'hand' | 'close'>;

export interface TradingRoleOptions {
  readonly bus: Bus;
  readonly redisUrls: Config['redisUrls'];
  readonly seal: RecordSeal;
  /** What gateways that share a role have in common. */
  readonly kind: { readonly mode: Config['trading']; readonly keystore: string };
  /** Runs a call on this gateway, which holds the role. */
  readonly run: (endpoint: string, call: OrderCall) => Promise<OrderAnswer>;
  readonly onChange: () => void;
  readonly log: Logger;
}

export function createTradingRole(options: TradingRoleOptions): TradingRole {
  return options.redisUrls === null ? soleRole(options) : new SharedRole({ ...options, redisUrls: options.redisUrls });
}

function soleRole({ run, onChange }: TradingRoleOptions): TradingRole {
  return {
    held: true,
    report: { holder: 'self', handedOver: { out: 0, in: 0, unanswered: 0 } },
    isShared: false,
    start: async () => onChange(),
    hand: (spec, call) => run(spec.id, call),
    close: async () => undefined,
  };
}

/** Shorter than for other leases, so that another gateway trades within two seconds even on a busy machine. */
const leaseTtlMs = 1_000;
/** How long a start waits until it is known who holds the role. */
const knownWithinMs = 3_000;

class SharedRole {
  /** Whether another gateway may have held the role before, and may have left orders. */
  readonly isShared: boolean = true;
  readonly #options: TradingRoleOptions & { readonly redisUrls: readonly string[] };
  #lease: Lease | null = null;
  #handOver: HandOver | null = null;

  constructor(options: TradingRoleOptions & { readonly redisUrls: readonly string[] }) {
    this.#options = options;
  }

  /** Exact: false from the moment that another gateway may hold the role. */
  get held(): boolean {
    return this.#lease?.held ?? false;
  }

  get report(): RoleReport {
    return { holder: this.#lease?.holder ?? null, handedOver: this.#handOver?.counters ?? { out: 0, in: 0, unanswered: 0 } };
  }

  /** Claims the role. Resolves when it is known who holds it. Rejects with a `BusError` if Redis cannot be reached. */
  async start(): Promise<void> {
    const { bus, redisUrls, seal, run, onChange, log } = this.#options;
    const name = roleName(this.#options);
    const mailboxes = await openMailboxes(redisUrls, name, log);
    const lease = bus.lease(name, leaseTtlMs);
    const handOver = new HandOver({ mailboxes, seal, lease, run, log });
    this.#lease = lease;
    this.#handOver = handOver;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, knownWithinMs);
      const changed = (): void => {
        log.info({ holder: lease.holder, fence: lease.fence }, 'trading_role_changed');
        onChange();
        handOver.roleChanged();
        if (lease.holder === null) return;
        clearTimeout(timer);
        resolve();
      };
      lease.onChange(changed);
      if (lease.holder !== null) changed();
    });
  }

  /** Hands a call over to the holder of the role. Resolves with its answer. Never rejects. */
  async hand(spec: EndpointSpec, call: OrderCall): Promise<OrderAnswer> {
    const isKnown = this.#lease !== null && this.#lease.holder !== null;
    return isKnown && this.#handOver !== null ? this.#handOver.hand(spec, call) : nobodyTrades;
  }

  /** Gives the role up, and finishes the calls of other gateways that run here. */
  async close(): Promise<void> {
    await this.#lease?.close();
    await this.#handOver?.close();
  }
}

/**
 * Gateways with another store, another keystore or another `TRADING` have a role of their own: they have other keys and wallets, and a
 * purchase on paper must not become a real one.
 */
export function roleName({ seal, kind: { mode, keystore } }: Pick<TradingRoleOptions, 'seal' | 'kind'>): string {
  const fleet = createHash('sha256')
    .update(seal.of('handed call', 'trading role', 0))
    .digest('hex')
    .slice(0, 16);
  return `trading-${mode}-${keystore}-${fleet}`;
}
