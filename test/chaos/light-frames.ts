import type { Message } from '../support/clients/stream-client.ts';

/** Within a JSON text each quote has a backslash before it, so this text is always the head of a frame. */
const head = /\{"topic":"([^"]+)","seq":(\d+)(?:,"prev":(\d+))?,"data":\{"type":"(\w+)","id":"([^"]+)"/g;
const frameHead = '{"topic":"';
const reply = '"op":"';

/**
 * Messages of the stream in JSON. Only the topic, numbers, type and id of their frames are read, so that one process can follow many
 * streams. Ids are views into the text. A frame in another form is an error; it is not ignored.
 */
export function readLight(text: string): readonly Message[] {
  if (text.includes(reply)) {
    const whole: unknown = JSON.parse(text);
    return Array.isArray(whole) ? (whole as Message[]) : [whole as Message];
  }
  const messages: Message[] = [];
  for (const [, topic, seq, prev, type, id] of text.matchAll(head))
    messages.push({ topic: topic!, seq: Number(seq), ...(prev !== undefined && { prev: Number(prev) }), data: { type: type!, id: id! } });
  let frames = 0;
  for (let at = text.indexOf(frameHead); at !== -1; at = text.indexOf(frameHead, at + frameHead.length)) frames++;
  if (frames === 0 || messages.length !== frames)
    throw new Error(`${frames} frames, and ${messages.length} heads of the known form: ${text.slice(0, 500)}`);
  return messages;
}
