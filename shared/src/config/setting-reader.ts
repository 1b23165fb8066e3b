import { isIP } from 'node:net';
import type { SettingName } from './settings/settings-table.ts';

/** Entries of one comma-separated list, and addresses of one. */
const maxEntries = 64;
const maxUrls = 16;

const lamportDigits = 9;
/** All SOL together has nine digits before the point. */
const solForm = /^(\d{1,9})(?:\.(\d{1,9}))?$/;
const hostNameForm = /^(?=.{1,253}$)[A-Za-z0-9_][A-Za-z0-9_-]{0,62}(?:\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*\.?$/;
/** A name with such an end is read as an IPv4 address, so it must be a valid one. */
const endsInNumber = /(?:^|\.)\d+\.?$/;

/** Quotes a value for a message. Only for values that are not secret. */
export function inQuotes(value: string): string {
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
}

/** Reads an amount of SOL; returns lamports. Null if the text is not an amount, or has more than nine decimals. */
export function readSol(text: string): bigint | null {
  const match = solForm.exec(text);
  return match === null ? null : BigInt(`${match[1]}${(match[2] ?? '').padEnd(lamportDigits, '0')}`);
}

/** Whether a text is an IP address (IPv6 without brackets) or the name of a host. */
export function isHost(text: string): boolean {
  return isIP(text) !== 0 || (hostNameForm.test(text) && !endsInNumber.test(text));
}

/** Reads the settings of an environment, and collects everything that is wrong with them. */
export class SettingReader {
  /** One sentence for each fault; it begins with the name of the setting. */
  readonly faults: string[] = [];
  readonly #env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  fault(name: string, what: string): void {
    this.faults.push(`${name}: ${what}`);
  }

  /** The value of a setting; null if it is not set or empty. */
  get(name: SettingName): string | null {
    return this.#env[name]?.trim() || null;
  }

  oneOf<T extends string>(name: SettingName, allowed: readonly T[], fallback: T): T {
    const text = this.get(name) ?? fallback;
    const found = allowed.find((value) => value === text);
    if (found === undefined) this.fault(name, `${inQuotes(text)} must be one of ${allowed.join(', ')}`);
    return found ?? fallback;
  }

  /** A whole number from `least` to `most`. */
  integer(name: SettingName, fallback: number, least: number, most: number): number {
    const text = this.get(name) ?? String(fallback);
    const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= least && value <= most)) this.fault(name, `${inQuotes(text)} is not a whole number from ${least} to ${most}`);
    return value;
  }

  port(name: SettingName): number {
    const text = this.get(name) ?? '8080';
    const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
    if (!(port <= 65_535)) this.fault(name, `${inQuotes(text)} is not a port, 0 to 65535`);
    return port;
  }

  host(name: SettingName): string {
    const host = this.get(name) ?? '127.0.0.1';
    if (!isHost(host)) this.fault(name, `${inQuotes(host)} is neither an IP address nor a host name`);
    return host;
  }

  /** The entries of a comma-separated setting; none if it is not set. */
  list(name: SettingName): readonly string[] {
    const text = this.get(name);
    if (text === null) return [];
    const entries = text.split(',').map((entry) => entry.trim());
    if (entries.length > maxEntries) this.fault(name, `has ${entries.length} entries. The maximum is ${maxEntries}`);
    if (new Set(entries).size < entries.length) this.fault(name, 'has the same entry twice');
    return entries.slice(0, maxEntries);
  }

  /** The same for a list of known names, in the order in which they are known. */
  names<T extends string>(name: SettingName, known: readonly T[]): readonly T[] {
    const entries = this.list(name);
    for (const entry of entries) {
      if (!known.some((one) => one === entry)) this.fault(name, `${inQuotes(entry)} is not one of ${known.join(', ')}`);
    }
    return known.filter((one) => entries.includes(one));
  }

  /** Addresses may contain passwords and keys, so a fault gives the place in the list, never the text. */
  urls(name: SettingName, schemes: readonly string[]): readonly string[] | null {
    const text = this.get(name);
    if (text === null) return null;
    const urls = text.split(',').map((url) => url.trim());
    const schemeText = schemes.map((scheme) => `${scheme}//`).join(' or ');
    if (urls.length > maxUrls) this.fault(name, `has ${urls.length} URLs. The maximum is ${maxUrls}`);
    for (const [index, url] of urls.entries()) {
      const which = urls.length === 1 ? 'its value' : `URL ${index + 1} of ${urls.length}`;
      if (!URL.canParse(url)) this.fault(name, `${which} is not a URL of the form ${schemeText}host`);
      else if (!schemes.includes(new URL(url).protocol)) this.fault(name, `${which} does not begin with ${schemeText}`);
      else if (new URL(url).hostname === '') this.fault(name, `${which} has no host`);
    }
    if (new Set(urls).size < urls.length) this.fault(name, 'has the same URL twice');
    return urls;
  }

  /** One HTTP address. */
  url(name: SettingName): string | null {
    const urls = this.urls(name, ['http:', 'https:']);
    if (urls !== null && urls.length > 1) this.fault(name, 'has several URLs. Give one');
    return urls?.[0] ?? null;
  }
}
