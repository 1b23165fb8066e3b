import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { takeGatewayId } from '@sluice/gateway/store/gateway-id.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loaderOptions } from '../loader/options.ts';

const child = fileURLToPath(new URL('gateway-id-child.ts', import.meta.url));

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-gateway-id-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('the id under which a gateway follows orders', () => {
  it('is unique while the gateway lives, and then passes to the next one', () => {
    const folder = newFolder();
    const [first, second] = [takeGatewayId(folder), takeGatewayId(folder)];
    expect(second.id).not.toBe(first.id);
    first.release();
    const third = takeGatewayId(folder);
    expect(third.id).toBe(first.id);
    second.release();
    third.release();
    expect(takeGatewayId(newFolder()).id).not.toBe(first.id);
  });

  it('survives a gateway that is killed', async () => {
    const folder = newFolder();
    const gateway = spawn(process.execPath, [...loaderOptions, child, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void gateway.kill('SIGKILL'));
    const [output] = (await once(gateway.stdout, 'data')) as [Buffer];
    const second = takeGatewayId(folder);
    expect(second.id).not.toBe(output.toString().trim());
    gateway.kill('SIGKILL');
    await once(gateway, 'exit');
    const next = takeGatewayId(folder);
    expect(next.id).toBe(output.toString().trim());
    for (const one of [second, next]) one.release();
  });

  it('is refused with the name of the setting if the folder is not writable', () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'gateways'), 'a file in its place');
    expect(() => takeGatewayId(folder)).toThrow(/gateways/);
  });
});
