import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A folder in which the commands of the documents run: `sluice` is a clone of the project with the changes of its developer. */
export interface Sandbox {
  readonly folder: string;
  readonly clone: string;
  readonly env: NodeJS.ProcessEnv;
}

const root = join(import.meta.dirname, '../..');
/** Settings of the run itself that a user does not have. */
const ownSettings = /^(npm_(?!config_registry|config_cafile)|pnpm_|INIT_CWD|NODE_OPTIONS|NODE_ENV|VITEST)/i;

/** `port`: of the gateway; also the commands find it there. */
export function createSandbox(folder: string, port: number): Sandbox {
  const clone = join(folder, 'sluice');
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
  const deleted = execFileSync('git', ['ls-files', '-z', '--deleted'], { cwd: root, encoding: 'utf8' });
  const gone = new Set(deleted.split('\0'));
  for (const path of new Set(listed.split('\0').filter((each) => each !== '' && !gone.has(each)))) {
    mkdirSync(dirname(join(clone, path)), { recursive: true });
    cpSync(join(root, path), join(clone, path));
  }
  mkdirSync(join(folder, 'app'));
  // curl fails if the answer is an error.
  writeFileSync(join(folder, '.curlrc'), 'fail-with-body\nsilent\nshow-error\nmax-time = 60\n');
  const env: NodeJS.ProcessEnv = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !ownSettings.test(name))),
    PORT: String(port),
    LOG_LEVEL: 'info',
    NO_COLOR: '1',
    CURL_HOME: folder,
    // The examples of the client take it from there.
    SLUICE_URL: `http://127.0.0.1:${port}`,
    NO_PROXY: '127.0.0.1',
    no_proxy: '127.0.0.1',
    PYTHONUNBUFFERED: '1',
    PATH: `${join(folder, 'python/bin')}:${process.env['PATH'] ?? ''}`,
  };
  return { folder, clone, env };
}
