import { useEffect, useState } from 'preact/hooks';
import { faultText } from '../state/server.ts';
import { clockTime } from '../format/text.ts';
import { Fault } from '../parts/parts.tsx';
import { useStore } from '../state/store.ts';
import { caller, CallerField, credentials } from './credentials.tsx';
import { examples, fill } from './examples.ts';
import { LiveStream, type Status } from './live-stream.ts';

const stateNames: Readonly<Record<Status['state'], string>> = { closed: 'Not connected', opening: 'Connecting …', open: 'Connected' };

/** A command of the stream, with its example. */
export interface Command {
  readonly title: string;
  readonly text: string;
}

interface CommandFormProps {
  readonly commands: readonly Command[];
  readonly first: string;
  readonly isOpen: boolean;
  readonly onSend: (text: string) => void;
}

/** A console for the stream: it connects, sends commands, and shows what arrives. */
export function Console({ commands }: { readonly commands: readonly Command[] }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details class="try" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>Try it: live console</summary>
      {isOpen && <Opened commands={commands} />}
    </details>
  );
}

function Opened({ commands }: { readonly commands: readonly Command[] }) {
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
        commands={commands}
        first={isKeyless ? 'PumpPortal' : 'subscribe trades'}
        isOpen={state === 'open'}
        onSend={(text) => stream.send(text)}
      />
      <Messages stream={stream} />
    </div>
  );
}

/** A command, which can be changed before it is sent. */
function CommandForm({ commands, first, isOpen, onSend }: CommandFormProps) {
  useStore(examples);
  const [title, setTitle] = useState(first);
  const [edited, setEdited] = useState<string | null>(null);
  const message = edited ?? fill(commands.find((one) => one.title === title)?.text ?? '');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSend(message);
      }}
    >
      <label>
        <span>Command</span>
        <select
          value={title}
          onChange={({ currentTarget }) => {
            setTitle(currentTarget.value);
            setEdited(null);
          }}
        >
          {commands.map((one) => (
            <option key={one.title}>{one.title}</option>
          ))}
        </select>
      </label>
      <label>
        <span>Message</span>
        <textarea rows={3} spellcheck={false} value={message} onInput={({ currentTarget }) => setEdited(currentTarget.value)} />
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
