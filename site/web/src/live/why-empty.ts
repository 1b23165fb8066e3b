import { SluiceError } from '@sluice/client';
import { faultText } from '../state/server.ts';
import type { Connection, LiveChannel } from './feed.ts';

const contents: Readonly<Record<LiveChannel, string>> = {
  newTokens: 'new tokens',
  trades: 'the trades of all tokens',
  migrations: 'migrations',
};
const quiet: Readonly<Record<LiveChannel, string>> = {
  newTokens: 'Quiet: no token was created lately.',
  trades: 'Quiet: nobody has traded lately.',
  migrations: 'Quiet: no token has moved from its bonding curve to a pool lately.',
};

/** Why the server does not send a list, for people. A plan that lacks the list is named with those that have it. */
export function refusalText(channel: LiveChannel, error: unknown): string {
  const { plan, plans } = (error instanceof SluiceError ? error.details : {}) as { readonly plan?: string; readonly plans?: unknown };
  if (plan === undefined || !Array.isArray(plans)) return faultText(error);
  const others =
    plans.length > 1
      ? `The plans ${plans.join(' and ')} include`
      : plans.length === 1
        ? `The plan ${plans[0]} includes`
        : 'No plan includes';
  const instead = channel === 'trades' ? ' The page of a token shows its trades.' : '';
  return `Your plan is ${plan}. ${others} ${contents[channel]}.${instead}`;
}

/** Why a list shows nothing. `hidden`: events that the filters hide. */
export function whyEmpty(
  channel: LiveChannel,
  hidden: number,
  isPaused: boolean,
  isInterrupted: boolean,
  { state, detail, refused }: Connection,
): string {
  const refusal = refused[channel];
  if (refusal !== undefined) return refusal;
  if (hidden > 0) return `The filters hide all ${hidden} that were received.`;
  if (isPaused) return 'Paused.';
  if (state === 'live') return isInterrupted ? 'Nothing arrives at present.' : quiet[channel];
  return state === 'connecting' ? 'Loading …' : `Not connected: ${detail}`;
}
