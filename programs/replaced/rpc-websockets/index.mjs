/** In place of the package `rpc-websockets`, from which @solana/web3.js derives a class. sluice opens no WebSocket with web3.js. */
export function CommonClient() {
  throw new Error('sluice opens no WebSocket with @solana/web3.js');
}
export const WebSocket = CommonClient;
