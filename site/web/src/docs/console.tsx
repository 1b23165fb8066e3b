import { useEffect, useState } from 'preact/hooks';
import { faultText } from '../state/server.ts';
import { clockTime } from '../format/text.ts';
import { useLoaded } from '../parts/hooks.ts';
import { Fault } from '../parts/parts.tsx';
import { useStore } from '../state/store.ts';
import { commandsOf, type AsyncApi, type Command } from './commands.ts';
import { caller, CallerField, credentials } from './credentials.tsx';
import { readDocument } from './documents.ts';
import { useFilledTexts } from './examples.ts';
import { Fields } from './fields.tsx';
import { LiveStream, type Status } from './live-stream.ts';
import { bodyFields, fixedOf, objectOf } from './schema.ts';

const stateNames: Readonly<Record<Status['state'], string>> = { closed: 'Not connected', opening: 'Connecting …', open: 'Connected' };

/** A console for the stream: it connects, sends commands, and shows what arrives. */
export function Console() {
  const [isOpen, setIsOpen] = useState(false);
  const { value, fault } = useLoaded(isOpen ? () => readDocument<AsyncApi>('/api/asyncapi.json') : null, 'asyncapi', null);
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>Try it: live console</summary>
      <Fault text={fault} />
      {isOpen && value !== null && <Opened document={value} />}
    </details>
  );
}

function Opened({ document: asyncApi }: { readonly document: AsyncApi }) {
  const [stream] = useState(() => new LiveStream());
  const { state, why } = useStore(stream.status);
  const [fault, setFault] = useState<string | null>(null);
  useStore(credentials);
  useEffect(() => () => stream.close(), [stream]);
  const isKeyless = caller() === null;
  const mayConnect = !isKeyless || document.body.dataset['keyless'] === 'on';
  const open = (): void => {
    setFault(null);
    stream.open().catch((error: unknown) => setFault(faultText(error)));
  };
  return (
    <div class="console">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (state === 'closed') open();
          else stream.close();
        }}
      >
        <CallerField />
        {isKeyless && mayConnect && <p>Without a key, this gateway serves PumpPortal’s commands only.</p>}
        <p class="row">
          <button type="submit" class={state === 'closed' ? 'primary' : ''} disabled={!mayConnect}>
            {state === 'closed' ? 'Connect' : 'Disconnect'}
          </button>
          <span role="status">
            {stateNames[state]}
            {why === '' ? '' : ` (${why})`}
          </span>
        </p>
      </form>
      <Fault text={fault} />
      <CommandForm
        key={isKeyless ? 'keyless' : 'key'}
        commands={commandsOf(asyncApi)}
        first={isKeyless ? 'PumpPortal' : 'subscribe trades'}
        isOpen={state === 'open'}
        onSend={(text) => stream.send(text)}
      />
      <Messages stream={stream} />
    </div>
  );
}

interface CommandFormProps {
  readonly commands: readonly Command[];
  readonly first: string;
  readonly isOpen: boolean;
  readonly onSend: (text: string) => void;
}

function CommandForm({ commands, first, isOpen, onSend }: CommandFormProps) {
  const [title, setTitle] = useState(first);
  const chosen = commands.find((one) => one.title === title) ?? commands[0]!;
  return (
    <>
      <label>
        <span>Command</span>
        <select value={chosen.title} onChange={({ currentTarget }) => setTitle(currentTarget.value)}>
          {commands.map((one) => (
            <option key={one.title}>{one.title}</option>
          ))}
        </select>
      </label>
      <CommandFields key={chosen.title} command={chosen} isOpen={isOpen} onSend={onSend} />
    </>
  );
}

/** The inputs of a command, and the message that they make. It can be changed before it is sent. */
function CommandFields({
  command: { schema, example },
  isOpen,
  onSend,
}: { readonly command: Command } & Pick<CommandFormProps, 'isOpen' | 'onSend'>) {
  const fields = bodyFields(schema, example);
  const [texts, setText] = useFilledTexts(fields);
  const [edited, setEdited] = useState<string | null>(null);
  let made = '';
  let fault: string | null = null;
  try {
    made = JSON.stringify({ ...fixedOf(schema), ...objectOf(fields, texts) });
  } catch (error) {
    fault = faultText(error);
  }
  const change = (name: string, text: string): void => {
    setEdited(null);
    setText(name, text);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSend(edited ?? made);
      }}
    >
      <Fields fields={fields} texts={texts} onChange={change} />
      <Fault text={fault} />
      <label>
        <span>Message</span>
        <textarea rows={2} spellcheck={false} value={edited ?? made} onInput={({ currentTarget }) => setEdited(currentTarget.value)} />
      </label>
      <button type="submit" disabled={!isOpen}>
        Send
      </button>
    </form>
  );
}

function Messages({ stream }: { readonly stream: LiveStream }) {
  const lines = useStore(stream.lines);
  const isPaused = useStore(stream.isPaused);
  const showsHeartbeats = useStore(stream.showsHeartbeats);
  const received = useStore(stream.received);
  return (
    <>
      <p class="row">
        <button type="button" aria-pressed={isPaused} onClick={() => stream.isPaused.set(!isPaused)}>
          Pause
        </button>
        <button type="button" onClick={() => stream.clear()}>
          Clear
        </button>
        <label class="check">
          <input type="checkbox" checked={showsHeartbeats} onChange={() => stream.showsHeartbeats.set(!showsHeartbeats)} />
          Heartbeats
        </label>
        <small>{received} received</small>
      </p>
      <ol class="messages" tabIndex={0} aria-label="Messages, newest first">
        {lines.map(({ id, atMs, way, text }) => (
          <li key={id} class={way}>
            <small>
              {clockTime(atMs)} {way}
            </small>
            <code>{text}</code>
          </li>
        ))}
      </ol>
    </>
  );
}
