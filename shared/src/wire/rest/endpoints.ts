import {
  asyncApiEndpoint,
  docsEndpoint,
  docsPageEndpoint,
  docsSearchEndpoint,
  llmsEndpoint,
  openApiEndpoint,
} from './operations/documents.ts';
import { tradeBatchEndpoint } from './trading/batch.ts';
import type { EndpointSpec } from './endpoint.ts';
import { explainEndpoint } from './explain.ts';
import { tokenImageEndpoint } from './tokens/image.ts';
import { liveEndpoint, metricsEndpoint, readyEndpoint, statusEndpoint } from './operations/operations.ts';
import { paperBalanceEndpoint, paperWalletEndpoint, portfolioEndpoint } from './wallets/portfolio.ts';
import { positionsEndpoint } from './wallets/positions.ts';
import { pumpPortalLocalEndpoint, pumpPortalTradeEndpoint } from './trading/pumpportal.ts';
import { quoteEndpoint } from './trading/quote.ts';
import {
  orderEndpoint,
  orderPageEndpoint,
  tradeBuyEndpoint,
  tradeSellEndpoint,
  transactionBuyEndpoint,
  transactionSellEndpoint,
  transactionSendEndpoint,
} from './trading/trade.ts';
import { tokenCandlesEndpoint, tokenTradesEndpoint } from './tokens/token-history.ts';
import { tokenHoldersEndpoint, tokenInfoEndpoint, tokenSearchEndpoint } from './tokens/token.ts';
import { wsTicketEndpoint } from './account/ticket.ts';
import {
  armTriggerEndpoint,
  cancelTriggerEndpoint,
  cancelTriggersEndpoint,
  triggerEndpoint,
  triggerPageEndpoint,
} from './trading/triggers.ts';
import { usageEndpoint } from './account/usage.ts';

/** All endpoints of the public HTTP API. The dashboard has routes of its own (`gateway/src/accounts/routes.ts`). */
export const endpoints: readonly EndpointSpec[] = [
  statusEndpoint,
  liveEndpoint,
  readyEndpoint,
  metricsEndpoint,
  tokenInfoEndpoint,
  tokenSearchEndpoint,
  tokenCandlesEndpoint,
  tokenTradesEndpoint,
  tokenHoldersEndpoint,
  tokenImageEndpoint,
  portfolioEndpoint,
  explainEndpoint,
  positionsEndpoint,
  quoteEndpoint,
  tradeBuyEndpoint,
  tradeSellEndpoint,
  tradeBatchEndpoint,
  transactionBuyEndpoint,
  transactionSellEndpoint,
  transactionSendEndpoint,
  paperWalletEndpoint,
  paperBalanceEndpoint,
  pumpPortalTradeEndpoint,
  pumpPortalLocalEndpoint,
  orderEndpoint,
  orderPageEndpoint,
  armTriggerEndpoint,
  triggerEndpoint,
  triggerPageEndpoint,
  cancelTriggerEndpoint,
  cancelTriggersEndpoint,
  usageEndpoint,
  wsTicketEndpoint,
  openApiEndpoint,
  asyncApiEndpoint,
  docsEndpoint,
  docsPageEndpoint,
  docsSearchEndpoint,
  llmsEndpoint,
];
