import { VersionedTransaction } from '@solana/web3.js';
import axios from 'axios';

const { PUMPPORTAL_HOST: host, API_KEY: key, WALLET: wallet, MINT: mint } = process.env;
const order = { action: 'buy', mint, amount: 0.01, denominatedInSol: 'true', slippage: 20, priorityFee: 0.00005, pool: 'auto' };

// https://pumpportal.fun/local-trading-api/trading-api
const response = await fetch(`http://${host}/api/trade-local`, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ publicKey: wallet, ...order }),
});
if (response.status !== 200) throw new Error(`trade-local: ${response.status} ${await response.text()}`);
const tx = VersionedTransaction.deserialize(new Uint8Array(await response.arrayBuffer()));
const payer = tx.message.staticAccountKeys[0].toBase58();
if (payer !== wallet) throw new Error(`the payer is ${payer}`);

const { data } = await axios.post(`http://${host}/api/trade?api-key=${key}`, order);
if (data.errors?.length > 0 || data.signature === undefined) throw new Error(JSON.stringify(data));
console.log(`transaction of ${payer}; signature ${data.signature}`);
