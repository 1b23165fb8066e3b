import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';

/** A server or program that suites use and that the npm registry does not have. */
interface Tool {
  readonly name: string;
  /** One of these names must be in PATH. */
  readonly programs: readonly string[];
  /** Where distributions install it outside PATH. */
  readonly folders?: readonly string[];
  /** Debian package. */
  readonly aptPackage: string;
  /** Its tests are reported as skipped if it cannot be installed. */
  readonly isOptional?: true;
}

const tools: readonly Tool[] = [
  { name: 'Redis', programs: ['redis-server'], aptPackage: 'redis-server' },
  {
    name: 'PostgreSQL',
    programs: ['postgres'],
    folders: [18, 17, 16, 15, 14].map((version) => `/usr/lib/postgresql/${version}/bin`),
    aptPackage: 'postgresql',
  },
  { name: 'Chromium', programs: ['chromium', 'chromium-browser', 'google-chrome'], aptPackage: 'chromium' },
  { name: 'promtool', programs: ['promtool'], aptPackage: 'prometheus', isOptional: true },
];

const attempts = 3;
const firstPauseMs = 3000;
const aptTimeoutMs = 5 * 60_000;

/** Installs missing programs that the suites need. Returns one sentence for each that could not be installed. */
export async function installMissing(tell: (text: string) => void): Promise<readonly string[]> {
  const missing = tools.filter((tool) => !isThere(tool));
  const optional = await install(
    missing.filter(({ isOptional }) => isOptional === true),
    tell,
  );
  for (const fault of optional) tell(`${fault} Tests that need it are skipped.`);
  return install(
    missing.filter(({ isOptional }) => isOptional !== true),
    tell,
  );
}

async function install(missing: readonly Tool[], tell: (text: string) => void): Promise<readonly string[]> {
  if (missing.length === 0) return [];
  const names = missing.map((tool) => tool.name).join(', ');
  const packages = missing.map((tool) => tool.aptPackage);
  const command = `apt-get install -y --no-install-recommends ${packages.join(' ')}`;
  if (!isDebian() || process.getuid?.() !== 0) {
    return [`${names} is missing. ${isDebian() ? `Install it: sudo ${command}` : `Install it with your system's package manager.`}`];
  }
  tell(`installing ${names}`);
  let fault = '';
  for (let attempt = 1; attempt <= attempts; attempt++) {
    if (attempt > 1) await sleep(firstPauseMs * 2 ** (attempt - 2));
    fault = apt('update') ?? apt('install', '-y', '--no-install-recommends', ...packages) ?? '';
    if (fault === '') break;
    tell(`attempt ${attempt} of ${attempts} failed: ${fault}`);
  }
  return missing.filter((tool) => !isThere(tool)).map((tool) => `${tool.name} could not be installed (${command}): ${fault}`);
}

/** Null if it succeeded; otherwise the end of its output. */
function apt(...args: readonly string[]): string | null {
  const result = spawnSync('apt-get', ['-q', '-o', 'Acquire::Retries=3', '-o', 'DPkg::Lock::Timeout=120', ...args], {
    // RUNLEVEL=1 prevents the package's own service from starting; the suites start servers of their own.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    timeout: aptTimeoutMs,
  });
  if (result.status === 0) return null;
  if (result.error !== undefined) return result.error.message;
  return `${result.stdout}${result.stderr}`.trim().split('\n').slice(-3).join(' ');
}

function isThere(tool: Tool): boolean {
  const folders = [...(process.env['PATH'] ?? '').split(':'), ...(tool.folders ?? [])];
  return tool.programs.some((program) => folders.some((folder) => folder !== '' && existsSync(join(folder, program))));
}

function isDebian(): boolean {
  if (!existsSync('/etc/os-release')) return false;
  return /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(readFileSync('/etc/os-release', 'utf8'));
}
