import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';

/** Signal that ends a server at once. PostgreSQL passes SIGQUIT on to its own children. */
type EndSignal = 'KILL' | 'QUIT';

/**
 * Reads lines `add <pid> <signal> <directory>` and `remove <pid>`. At the end of its input it ends each server that is left, and removes its
 * directory. It must survive a signal to the whole process group.
 */
const script = `
trap "" TERM INT HUP
left=""
while read -r what pid signal directory; do
  if [ "$what" = add ]; then left="$left $pid:$signal:$directory"; continue; fi
  others=""
  for one in $left; do case "$one" in "$pid":*) ;; *) others="$others $one" ;; esac; done
  left="$others"
done
for one in $left; do
  rest="\${one#*:}"
  kill -"\${rest%%:*}" "\${one%%:*}" 2>/dev/null
done
for one in $left; do
  while kill -0 "\${one%%:*}" 2>/dev/null; do sleep 0.1; done
  rm -rf "\${one##*:}"
done`;

/** One for all servers of this process: starting a process costs a large one tens of milliseconds. */
let watcher: ChildProcess | null = null;

function tell(line: string): void {
  if (watcher === null) {
    watcher = spawn('sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'] });
    watcher.unref();
    (watcher.stdin as Socket).unref();
  }
  watcher.stdin!.write(`${line}\n`);
}

/** Makes sure that the server ends and its directory is removed when this process ends in any way, because its pipe then closes. */
export function watchServer(pid: number, signal: EndSignal, directory: string): void {
  tell(`add ${pid} ${signal} ${directory}`);
}

/** For a server that has ended: another process may get its id. */
export function unwatchServer(pid: number): void {
  tell(`remove ${pid}`);
}
