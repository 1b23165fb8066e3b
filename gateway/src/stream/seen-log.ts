import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sighting } from '@sluice/shared/bus/bus.ts';
import type { Logger } from '@sluice/shared/log/log.ts';
import { aboutDataDir } from '../store/about-data-dir.ts';
import { takeLock, type Lock } from '../store/lock.ts';
import { makeFolder } from '../store/make-folder.ts';
import { readIfThere } from '../store/secret-file.ts';

/** Gateways on one data folder that keep what they have seen; one more keeps nothing. */
const maxKept = 64;

/**
 * What the gateways of a data folder have shown of the log to clients, where it outlives them. Redis may lose the end of its log
 * while a gateway is away: its clients have numbers then that are given once more, and nobody else can tell.
 */
export interface SeenLog {
  /** What gateways on this folder have seen that are gone. */
  readonly seen: readonly Sighting[];
  /** All of `seen` was told to the bus, whose log is of this epoch now. */
  settle(epoch: string): void;
  /** From here on entries of this term are shown; how many is not known, should this process not come to `close`. */
  enter(place: Pick<Sighting, 'epoch' | 'term'>): void;
  /** Nothing is shown any more. */
  close(sighting: Sighting): void;
}

/** Where nothing outlives the process, or there is nobody to tell. */
export const noSeenLog: SeenLog = { seen: [], settle: () => undefined, enter: () => undefined, close: () => undefined };

/** Throws a `SettingError` where the folder takes no files at the start; later that is logged. */
export function openSeenLog(dataDir: string, log: Logger): SeenLog {
  const folder = join(dataDir, 'gateways');
  const places = aboutDataDir(`what the gateway has seen of the log cannot be kept in ${folder}`, () => takePlaces(folder));
  const [own] = places;
  if (own === undefined) return noSeenLog;
  const keep = (sighting: Sighting): void => {
    try {
      write(folder, own.file, sighting);
    } catch (error) {
      // What stands there is of a term before, and known to be unfinished: it errs towards telling clients too much.
      log.error({ err: error, folder }, 'seen_log_not_kept');
    }
  };
  const letGo = (others: readonly Place[]): void => {
    for (const { lock } of others) lock.release();
  };
  return {
    seen: places.flatMap(({ seen }) => seen),
    settle: (epoch) => {
      if (places.some(({ seen }) => seen.some((one) => one.epoch !== epoch))) log.warn({ epoch }, 'epoch_ended_while_away');
      const others = places.splice(1);
      for (const { file } of others) rmSync(file, { force: true });
      letGo(others);
    },
    enter: ({ epoch, term }) => keep({ epoch, term, offset: null }),
    close: (sighting) => {
      if (sighting.epoch !== '') keep(sighting);
      letGo(places);
    },
  };
}

interface Place {
  readonly file: string;
  readonly lock: Lock;
  readonly seen: readonly Sighting[];
}

/** A place that nobody has, and all others that were left by gateways which are gone. */
function takePlaces(folder: string): Place[] {
  makeFolder(folder);
  const places: Place[] = [];
  for (let slot = 0; slot < maxKept; slot++) {
    const file = join(folder, `${slot}.seen`);
    if (places.length > 0 && readIfThere(file) === null) continue;
    const lock = takeLock(`${file}.lock`);
    if (lock === null) continue;
    const text = readIfThere(file);
    places.push({ file, lock, seen: text === null ? [] : [JSON.parse(text) as Sighting] });
  }
  return places;
}

/** It is on the disk, whole, when this returns. */
function write(folder: string, file: string, sighting: Sighting): void {
  const draft = `${file}.new`;
  writeFileSync(draft, JSON.stringify(sighting), { mode: 0o600, flush: true });
  renameSync(draft, file);
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
