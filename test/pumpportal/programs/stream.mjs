/** What a stream program must see: each acknowledgement, a creation, and trades of new tokens. */
export class Seen {
  acks = 0;
  creates = 0;
  trades = 0;
  faults = [];

  /** Takes one message. Calls `follow` with the mint of each new token. */
  take(text, follow) {
    const event = JSON.parse(text);
    if (event.message !== undefined && event.mint === undefined) this.acks++;
    else if (event.txType === 'create') {
      this.creates++;
      if (!event.mint.endsWith('pump')) this.faults.push(`mint ${event.mint}`);
      follow(event.mint, event.traderPublicKey);
    } else if (event.txType === 'buy' || event.txType === 'sell') {
      this.trades++;
      const isBalance = event.newTokenBalance === null || typeof event.newTokenBalance === 'number';
      if (!isBalance || typeof event.tokenAmount !== 'number') this.faults.push(`trade ${text}`);
    }
    if (this.faults.length > 0) throw new Error(this.faults.join('; '));
    if (this.acks < 4 || this.creates < 2 || this.trades < 2) return;
    console.log(`acks ${this.acks}, creates ${this.creates}, trades ${this.trades}`);
    process.exit(0);
  }
}

export const url = `ws://${process.env.PUMPPORTAL_HOST}/api/data`;
export const first = [{ method: 'subscribeNewToken' }, { method: 'subscribeMigration' }];
export const followed = (mint, trader) => [
  { method: 'subscribeTokenTrade', keys: [mint] },
  { method: 'subscribeAccountTrade', keys: [trader] },
];
