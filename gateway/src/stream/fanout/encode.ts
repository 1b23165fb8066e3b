import type { Format } from '@sluice/shared/wire/stream/frames.ts';
import { packValue } from '@sluice/shared/codec/msgpack.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import type { Notice, Reply, SubscribedReply, UnsubscribedReply } from '@sluice/shared/wire/stream/replies.ts';

/** A reply or notice as one message. In batch mode every message is an array. */
export function encodeMessage(message: Reply | Notice, format: Format, batch: boolean): string | Uint8Array {
  return encodeValue(batch ? [message] : message, format);
}

export function encodeBytes(message: Reply | Notice, format: Format, batch: boolean): Uint8Array {
  const encoded = encodeMessage(message, format, batch);
  return typeof encoded === 'string' ? Buffer.from(encoded) : encoded;
}

function encodeValue(value: unknown, format: Format): string | Uint8Array {
  return format === 'json' ? JSON.stringify(value) : Buffer.from(packValue(value), 'latin1');
}

function bytesOf(value: unknown, format: Format): number {
  const encoded = encodeValue(value, format);
  return typeof encoded === 'string' ? Buffer.byteLength(encoded) : encoded.length;
}

/** Divides parts, in their order, into groups of at most `maxBytes`. A group has at least one part. `baseBytes`: what each group needs anyway. */
export function groupsOf<T>(parts: readonly T[], baseBytes: number, bytesOfPart: (part: T) => number, maxBytes: number): T[][] {
  const groups: T[][] = [];
  let left = 0;
  for (const part of parts) {
    const bytes = bytesOfPart(part);
    const last = groups.at(-1);
    if (last === undefined || bytes > left) {
      groups.push([part]);
      left = maxBytes - baseBytes - bytes;
    } else {
      last.push(part);
      left -= bytes;
    }
  }
  return groups;
}

type LongReply = SubscribedReply | UnsubscribedReply;

/** What a reply says about one key. */
interface Part {
  readonly accepted?: SubscribedReply['accepted'];
  readonly rejected?: SubscribedReply['rejected'];
  readonly removed?: UnsubscribedReply['removed'];
  readonly positions?: LongReply['positions'];
  readonly snapshot?: NonNullable<SubscribedReply['snapshot']>;
}

/** The brackets of a batch, and longer headers of longer lists. */
const slackBytes = 32;

/**
 * A reply as the messages to send. A reply that is longer than a message may be is divided: each of its messages is a whole reply for some of the
 * keys. Only the last one has the `id`, so every command has exactly one reply with its `id`; those before it have `of`.
 */
export function encodeReply(reply: Reply, format: Format, batch: boolean): (string | Uint8Array)[] {
  const whole = encodeMessage(reply, format, batch);
  const bytes = typeof whole === 'string' ? Buffer.byteLength(whole) : whole.length;
  if (bytes <= streamLimits.frameBytes || (reply.op !== 'subscribed' && reply.op !== 'unsubscribed')) return [whole];
  return divided(reply, format).map((message) => encodeMessage(message, format, batch));
}

function divided(reply: LongReply, format: Format): LongReply[] {
  const { id } = reply;
  const baseBytes = bytesOf({ ...withParts(reply, []), id: null, of: id }, format) + slackBytes;
  // A part alone has the names of its fields too, so this is more than it adds to a message.
  const groups = groupsOf(partsOf(reply), baseBytes, (part) => bytesOf(part, format), streamLimits.frameBytes);
  return groups.map((group, at) => {
    const message = withParts(reply, group);
    return at === groups.length - 1 ? message : { ...message, id: null, of: id };
  });
}

function partsOf(reply: LongReply): Part[] {
  const topics = Object.entries(reply.positions);
  if (reply.op === 'unsubscribed') return topics.map(([topic, position]) => ({ removed: [topic], positions: { [topic]: position } }));
  const { accepted, rejected, snapshot = [] } = reply;
  const frames = new Map(snapshot.map((frame) => [frame.topic, frame]));
  const followed = topics.map(([topic, position], at): Part => {
    const frame = frames.get(topic);
    // The keys are in the order of their topics.
    return {
      accepted: accepted.slice(at, at + 1),
      positions: { [topic]: position },
      ...(frame === undefined ? {} : { snapshot: [frame] }),
    };
  });
  return [...followed, ...rejected.map((key): Part => ({ rejected: [key] }))];
}

function withParts(reply: LongReply, parts: readonly Part[]): LongReply {
  const positions = Object.assign({}, ...parts.map((part) => part.positions)) as never;
  if (reply.op === 'unsubscribed') return { ...reply, removed: parts.flatMap(({ removed = [] }) => removed), positions };
  return {
    ...reply,
    accepted: parts.flatMap(({ accepted = [] }) => accepted),
    rejected: parts.flatMap(({ rejected = [] }) => rejected),
    positions,
    ...(reply.snapshot === undefined ? {} : { snapshot: parts.flatMap(({ snapshot = [] }) => snapshot) }),
  };
}
