import { readFileSync } from 'node:fs';

/** The processes of this machine. Null: there is no such process, or it cannot be read. */
export interface ProcessTable {
  find(pid: number): { readonly parent: number; readonly session: number } | null;
  /** The value of a variable in the environment with which a process was started. */
  variable(pid: number, name: string): string | null;
  /** Name and arguments. */
  command(pid: number): string | null;
}

/** A process, and the process that started it. */
export interface Link {
  readonly pid: number;
  readonly parent: number;
}

/** npm and its relatives set it to the name of the script that they run. npx sets it to `npx`. */
const eventVariable = 'npm_lifecycle_event';
const npxEvent = 'npx';
/** Longest chain that is followed. */
const maxLinks = 16;

/**
 * The launchers of `pid`: the processes between it and the package manager that a person or a process manager started, for example
 * `node` ← `sh` ← `pnpm` ← `sh` ← `npm exec`. If npm receives a signal, npm and its shell end, but the others neither receive it nor end.
 * `orphaned`: that has happened already.
 *
 * A script of another name is not followed, because it may end as soon as it has started its programs in the background. A process in another
 * session was detached on purpose.
 */
export function launchersOf(pid: number, table: ProcessTable): { readonly links: readonly Link[]; readonly orphaned: boolean } {
  const script = table.variable(pid, eventVariable);
  const links: Link[] = [];
  for (let at = pid; links.length < maxLinks;) {
    const event = table.variable(at, eventVariable);
    const current = table.find(at);
    if (event === null || current === null || (event !== script && event !== npxEvent)) break;
    const { parent, session } = current;
    // Only npm and its shell start a process with this event. The first process may be a background process of that shell.
    const isOrphan = event === npxEvent && table.variable(parent, eventVariable) !== npxEvent && !isNpm(table.command(parent));
    if (isOrphan && links.length > 0) return { links, orphaned: true };
    if (isOrphan || session === at || (table.find(parent)?.session ?? session) !== session) break;
    links.push({ pid: at, parent });
    at = parent;
  }
  return { links, orphaned: false };
}

/** Whether a launcher has ended. The process that it started then has another parent. */
export function isBroken(links: readonly Link[], table: ProcessTable): boolean {
  return links.some(({ pid, parent }) => table.find(pid)?.parent !== parent);
}

function isNpm(command: string | null): boolean {
  return command === null || /\bnp[mx]\b/.test(command);
}

/** On Linux, from `/proc`. */
const procTable: ProcessTable = {
  find: (pid) => {
    const text = readProc(pid, 'stat');
    // The name of the program, in parentheses, may have spaces and parentheses.
    const [, parent, , session] = text?.slice(text.lastIndexOf(')') + 2).split(' ') ?? [];
    return parent === undefined || session === undefined ? null : { parent: Number(parent), session: Number(session) };
  },
  variable: (pid, name) => {
    const entry = readProc(pid, 'environ')
      ?.split('\0')
      .find((text) => text.startsWith(`${name}=`));
    return entry?.slice(name.length + 1) ?? null;
  },
  command: (pid) => readProc(pid, 'cmdline'),
};

/** Null if the process has ended, or belongs to another user. */
function readProc(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return null;
  }
}

/** `env`: of this process. Systems other than Linux show a process only itself and its parent. */
export function processTable(env: NodeJS.ProcessEnv): ProcessTable {
  if (process.platform === 'linux') return procTable;
  return {
    find: (pid) => (pid === process.pid ? { parent: process.ppid, session: 0 } : null),
    variable: (pid, name) => (pid === process.pid ? (env[name] ?? null) : null),
    command: () => null,
  };
}
