import { X509Certificate, createPrivateKey, type KeyObject } from 'node:crypto';
import { accessSync, constants, lstatSync, readFileSync, statSync, statfsSync, type Stats } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { inQuotes, type SettingReader } from '../setting-reader.ts';
import type { SettingName } from './settings-table.ts';

/** Reads the name of a file. The file must exist, be readable and not be empty. */
export function readFileName(name: SettingName, read: SettingReader): string | null {
  const file = read.get(name);
  if (file === null) return null;
  const what = fileFault(file);
  if (what !== null) read.fault(name, what);
  return file;
}

function fileFault(file: string): string | null {
  const stats = statsOf(file);
  if (stats === undefined) return `there is no file ${inQuotes(file)}, or this user may not see it`;
  if (!stats.isFile()) return `${inQuotes(file)} is not a file`;
  if (stats.size === 0) return `${inQuotes(file)} is empty`;
  return isAccessible(file, constants.R_OK) ? null : `${inQuotes(file)} cannot be read`;
}

/** Reads the name of a folder. It must exist and be readable. */
export function readFolder(name: SettingName, read: SettingReader): string | null {
  const folder = read.get(name);
  if (folder === null) return null;
  const stats = statsOf(folder);
  if (stats === undefined) read.fault(name, `there is no folder ${inQuotes(folder)}, or this user may not see it`);
  else if (!stats.isDirectory()) read.fault(name, `${inQuotes(folder)} is not a folder`);
  else if (!isAccessible(folder, constants.R_OK | constants.X_OK)) read.fault(name, `${inQuotes(folder)} cannot be read`);
  return folder;
}

/** Reads the certificate and its key: both files or none. */
export function readTls(read: SettingReader) {
  const certFile = read.get('TLS_CERT_FILE');
  const keyFile = read.get('TLS_KEY_FILE');
  const cert = certFile === null ? null : readPem('TLS_CERT_FILE', certFile, 'a certificate', (pem) => new X509Certificate(pem), read);
  const key = keyFile === null ? null : readPem('TLS_KEY_FILE', keyFile, 'a private key without a passphrase', readKey, read);
  if (certFile !== null && keyFile === null) read.fault('TLS_KEY_FILE', 'missing; TLS_CERT_FILE requires it');
  if (keyFile !== null && certFile === null) read.fault('TLS_CERT_FILE', 'missing; TLS_KEY_FILE requires it');
  if (cert !== null && key !== null && !cert.checkPrivateKey(key)) {
    read.fault('TLS_KEY_FILE', 'is not the key of the first certificate in TLS_CERT_FILE');
  }
  return certFile === null || keyFile === null ? null : { certFile, keyFile };
}

function readPem<T>(name: SettingName, file: string, what: string, parse: (pem: Buffer) => T, read: SettingReader): T | null {
  const unreadable = fileFault(file);
  if (unreadable !== null) {
    read.fault(name, unreadable);
    return null;
  }
  try {
    const pem = readFileSync(file);
    if (pem.includes('-----BEGIN ')) return parse(pem);
  } catch {
    // The message of OpenSSL would not help, so the fault below is reported.
  }
  read.fault(name, `${inQuotes(file)} does not contain ${what} in PEM`);
  return null;
}

function readKey(pem: Buffer): KeyObject {
  return createPrivateKey(pem);
}

/** File systems of the kernel, which cannot store files: proc, sysfs, cgroup (1 and 2), devpts, debugfs, tracefs, securityfs, bpf. */
const kernelFileSystems: ReadonlySet<number> = new Set([
  0x9fa0, 0x62656572, 0x27e0eb, 0x63677270, 0x1cd1, 0x64626720, 0x74726163, 0x73636673, 0xcafe4a11,
]);

/** Reads a folder that is writable or can be created. The default folder is not checked if it does not exist. */
export function readDataDir(read: SettingReader): string {
  const named = read.get('DATA_DIR');
  const dir = named ?? '.data';
  const what = named === null && statsOf(dir, lstatSync) === undefined ? null : dataDirFault(dir);
  if (what !== null) read.fault('DATA_DIR', what);
  return dir;
}

function dataDirFault(dir: string): string | null {
  const existing = nearestExisting(resolve(dir));
  const which = existing === resolve(dir) ? inQuotes(dir) : `${inQuotes(dir)} cannot be created: ${inQuotes(existing)}`;
  const stats = statsOf(existing);
  if (stats === undefined) return `${which} is a link without a target, or this user may not see the target`;
  if (!stats.isDirectory()) return `${which} is not a folder`;
  if (kernelFileSystems.has(statfsSync(existing).type)) return `${which} is in a file system of the kernel, which cannot store files`;
  return isAccessible(existing, constants.R_OK | constants.W_OK | constants.X_OK) ? null : `${which} cannot be read and written`;
}

/** The path itself, or the nearest folder above it that exists. */
function nearestExisting(path: string): string {
  const exists = statsOf(path, lstatSync) !== undefined;
  return exists || dirname(path) === path ? path : nearestExisting(dirname(path));
}

/** Undefined if there is nothing, or if this user may not see it. `stat`: whether links are followed. */
function statsOf(path: string, stat = statSync): Stats | undefined {
  try {
    return stat(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function isAccessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
