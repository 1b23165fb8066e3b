import type { AgreedTime } from '@sluice/shared/runtime/clock/agreed-time.ts';
import type { AuditEntry } from '../audit/entry.ts';
import { LineTimes } from '../audit/line-times.ts';
import { openAuditLog } from '../audit/log.ts';
import { Siblings } from '../audit/siblings.ts';
import { logIdsIn, slotName } from '../audit/segments.ts';
import { policyStamp, readPolicy, type PolicyFiles, type Policy } from '../limits/policy-file.ts';
import { Spend } from '../limits/daily-spend.ts';
import { Fault, type LogHead } from '../wire/protocol.ts';
import type { StartTerms } from './start-terms.ts';

export type SigningFolder = ReturnType<typeof openSigningFolder>;

/** The audit logs, the sums of past spend, and the operator's policy. Throws a `Fault` or the file system's error. */
export function openSigningFolder(
  terms: StartTerms,
  key: Uint8Array,
  heads: ReadonlyMap<string, LogHead>,
  time: Pick<AgreedTime, 'nowMs'>,
) {
  const { folder, keystore, slot } = terms;
  const here = logIdsIn(folder);
  const missing = [...heads].find(([logId]) => !here.has(logId));
  if (missing !== undefined) {
    throw new Fault('audit_missing', `${folder} has no log ${missing[0]}, which had ${missing[1].lines} lines: sluice wallets audit`);
  }
  const [ownSpend, spend] = [new Spend(), new Spend()];
  let isOpen = false;
  let policyVersion = 0;
  const nowMs = (): number => time.nowMs();
  const take = (entry: AuditEntry, atMs: number): void => {
    spend.recall(entry, atMs);
    if (entry.event === 'policy') policyVersion = Math.max(policyVersion, entry.version);
    if (entry.event === 'segment') policyVersion = Math.max(policyVersion, entry.policyVersion);
  };
  const recordedEnd = (logId: string): LogHead | null => heads.get(logId) ?? null;
  const own = { folder, name: slotName(keystore, slot), key, keystore, recordedEnd, segmentBytes: terms.segmentBytes, nowMs };
  const ownTimes = new LineTimes({
    nowMs,
    isNew: false,
    take: (entry, atMs) => {
      take(entry, atMs);
      ownSpend.recall(entry, atMs);
    },
  });
  const opened = openAuditLog({ ...own, seen: (entry) => ownTimes.seen(entry) });
  if (!opened.ok) throw new Fault('audit_damaged', `${opened.file}: line ${opened.line} ${opened.reason}`);
  ownTimes.end();
  const times = (): LineTimes => new LineTimes({ nowMs, isNew: isOpen, take });
  const siblings = new Siblings({ folder, keystore, ownSlot: slot, key, recordedEnd, times });
  siblings.read();
  isOpen = true;
  const { log: audit } = opened;
  const { maxOrderLamports, maxDayLamports } = terms;
  audit.add({ event: 'start', maxOrderLamports, maxDayLamports, atMs: nowMs() });
  const files: PolicyFiles = { folder, keystore, key };
  let stamp = '';
  let policy: Policy | null = null;
  /** Reads the policy again if its file was replaced. Throws a `Fault` if the new policy is not valid. */
  const renewPolicy = (): void => {
    const newStamp = policyStamp(files);
    if (newStamp === stamp) return;
    const reading = readPolicy(files, policyVersion);
    if (!reading.ok) throw new Fault('policy_refused', reading.reason);
    stamp = newStamp;
    policy = reading.inForce?.policy ?? null;
    if (reading.inForce === null) return;
    policyVersion = reading.inForce.policy.version;
    audit.add({ event: 'policy', version: policyVersion, key: reading.inForce.key, atMs: nowMs() });
    audit.write();
  };
  renewPolicy();
  audit.write();
  audit.sync();
  return { audit, siblings, ownSpend, spend, policy: (): Policy | null => policy, renewPolicy };
}
