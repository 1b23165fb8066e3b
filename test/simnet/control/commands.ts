import { subscriptionKinds, type SubscriptionKind } from '../rpc/pubsub/subscription.ts';
import { misbehaviours, type SimnetControl } from './control.ts';

/** Longest list of names in one command. */
const maxNames = 64;
const day = 86_400_000;

/** Reads the fields of one command. The first fault is retained. A field that was never read is a fault. */
class CommandFields {
  private readonly source: Readonly<Record<string, unknown>>;
  private readonly asked = new Set(['op']);
  private firstFault: string | null = null;

  constructor(source: Readonly<Record<string, unknown>>) {
    this.source = source;
  }

  get fault(): string | null {
    const unknown = Object.keys(this.source).find((name) => !this.asked.has(name));
    return this.firstFault ?? (unknown === undefined ? null : `unknown field "${unknown}"`);
  }

  private get(name: string, needed: boolean): unknown {
    this.asked.add(name);
    const value = this.source[name];
    if (value === undefined && needed) this.firstFault ??= `"${name}" is missing`;
    return value;
  }

  number(name: string, min: number, max: number, whole: boolean): number | undefined {
    const value = this.get(name, false);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
    this.firstFault ??= `"${name}" must be ${whole ? 'a whole number' : 'a number'} from ${min} to ${max}`;
    return undefined;
  }

  needed(name: string, min: number, max: number, whole: boolean): number {
    this.get(name, true);
    return this.number(name, min, max, whole) ?? min;
  }

  flag(name: string): boolean | undefined {
    const value = this.get(name, false);
    if (value === undefined || typeof value === 'boolean') return value;
    this.firstFault ??= `"${name}" must be true or false`;
    return undefined;
  }

  names(name: string, allowed?: readonly string[]): readonly string[] | undefined {
    const value = this.get(name, false);
    if (value === undefined) return undefined;
    const good = (item: unknown): item is string => typeof item === 'string' && (allowed === undefined || allowed.includes(item));
    if (Array.isArray(value) && value.length <= maxNames && value.every(good)) return value;
    this.firstFault ??= `"${name}" must be a list of ${allowed === undefined ? 'names' : allowed.join(', ')}`;
    return undefined;
  }

  choice<T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const value = this.get(name, false);
    const found = allowed.find((item) => item === value);
    if (value !== undefined && found === undefined) this.firstFault ??= `"${name}" must be one of ${allowed.join(', ')}`;
    return found;
  }
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** By `op`: reads the fields and returns what to do, so that nothing is done if a field is wrong. */
const commands: Readonly<Record<string, (fields: CommandFields, control: SimnetControl) => () => unknown>> = {
  drop: (fields, control) => {
    const share = fields.needed('share', 0, 1, false);
    const named = fields.names('kinds', subscriptionKinds) as readonly SubscriptionKind[] | undefined;
    return () => control.drop({ share, ...defined({ kinds: named }) });
  },
  stall: (_fields, control) => () => control.stall(),
  lag: (fields, control) => {
    const ms = fields.needed('ms', 0, day, true);
    return () => control.lag({ ms });
  },
  cut: (fields, control) => {
    const options = defined({ refuseMs: fields.number('refuseMs', 0, day, true) });
    // Only after the reply to this command was written.
    return () => void setImmediate(() => control.cut(options));
  },
  fork: (fields, control) => {
    const slots = fields.needed('slots', 1, 1_000, true);
    const options = defined({ replay: fields.flag('replay'), replace: fields.flag('replace') });
    return () => ({ dead: control.fork({ slots, ...options }) });
  },
  truncate: (fields, control) => {
    const count = fields.needed('count', 0, 1_000_000, true);
    const options = defined({ bytes: fields.number('bytes', 0, 1_000_000, true) });
    return () => control.truncate({ count, ...options });
  },
  lie: (fields, control) => {
    const options = defined({ ignoreUntil: fields.flag('ignoreUntil'), omitShare: fields.number('omitShare', 0, 1, false) });
    return () => control.lie(options);
  },
  error429: (fields, control) => {
    const options = defined({
      share: fields.number('share', 0, 1, false),
      count: fields.number('count', 0, 1_000_000_000, true),
      methods: fields.names('methods'),
      retryAfterSeconds: fields.number('retryAfterSeconds', 0, 86_400, true),
    });
    return () => control.error429(options);
  },
  slow: (fields, control) => {
    const ms = fields.needed('ms', 0, day, true);
    const options = defined({ methods: fields.names('methods') });
    return () => control.slow({ ms, ...options });
  },
  unhealthy: (fields, control) => {
    const options = defined({ slotsBehind: fields.number('slotsBehind', 0, 1_000_000_000, true) });
    return () => control.unhealthy(options);
  },
  duplicate: (fields, control) => {
    const share = fields.needed('share', 0, 1, false);
    return () => control.duplicate({ share });
  },
  reorder: (_fields, control) => () => control.reorder(),
  lookAlike: (fields, control) => {
    const options = defined({ count: fields.number('count', 0, 1_000_000, true) });
    return () => control.lookAlike(options);
  },
  advance: (_fields, control) => () => ({ frozen: control.advance() }),
  clear: (fields, control) => {
    const what = fields.choice('what', misbehaviours);
    return () => control.clear(what);
  },
  status: () => () => undefined,
};

export const commandNames: readonly string[] = Object.keys(commands);

/** Runs one command of `POST /control`; returns the HTTP status and body. Nothing is done if anything in the command is wrong. */
export function runCommand(control: SimnetControl, body: unknown): { readonly status: number; readonly body: unknown } {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return { status: 400, body: { error: 'expected {"op":…}' } };
  const source = body as Record<string, unknown>;
  const op = String(source['op']);
  const command = Object.hasOwn(commands, op) ? commands[op] : undefined;
  if (command === undefined) return { status: 400, body: { error: `"op" must be one of ${commandNames.join(', ')}` } };
  const fields = new CommandFields(source);
  const act = command(fields, control);
  if (fields.fault !== null) return { status: 400, body: { error: fields.fault } };
  const result = act();
  return { status: 200, body: { ok: true, simulated: true, ...Object(result ?? {}), status: control.status() } };
}
