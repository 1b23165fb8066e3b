import { resolved, type Schema, type SchemaDocument } from './schema.ts';

interface Message {
  readonly title: string;
  readonly payload: Schema;
  readonly examples: readonly [{ readonly payload: Readonly<Record<string, unknown>> }];
}

export interface AsyncApi extends SchemaDocument {
  readonly operations: Readonly<Record<string, { readonly action: string; readonly messages: readonly { readonly $ref: string }[] }>>;
  readonly components: SchemaDocument['components'] & { readonly messages: Readonly<Record<string, Message>> };
}

/** A command that the gateway receives. */
export interface Command {
  readonly title: string;
  readonly schema: Schema;
  readonly example: Readonly<Record<string, unknown>>;
}

/** The commands of the stream. `auth` is not among them: the console sends it. */
export function commandsOf(document: AsyncApi): readonly Command[] {
  const names = Object.values(document.operations)
    .filter(({ action }) => action === 'receive')
    .flatMap(({ messages }) => messages.map(({ $ref }) => $ref.split('/').at(-1)!));
  return names
    .filter((name) => name !== 'auth')
    .map((name) => {
      const { title, payload, examples } = document.components.messages[name]!;
      return { title: title === 'method' ? 'PumpPortal' : title, schema: resolved(payload, document), example: examples[0].payload };
    });
}
