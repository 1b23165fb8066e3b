import { asyncApiEndpoint, docsEndpoint, docsPageEndpoint, docsSearchEndpoint, llmsEndpoint, openApiEndpoint } from './documents.ts';
import type { EndpointSpec } from './endpoint.ts';
import { tokenImageEndpoint } from './image.ts';
import { liveEndpoint, metricsEndpoint, readyEndpoint, statusEndpoint } from './operations.ts';
import { paperBalanceEndpoint, paperWalletEndpoint, portfolioEndpoint } from './portfolio.ts';
import { pumpPortalLocalEndpoint, pumpPortalTradeEndpoint } from './pumpportal.ts';
import { quoteEndpoint } from './quote.ts';
import {
  orderEndpoint,
  orderPageEndpoint,
  tradeBuyEndpoint,
  tradeSellEndpoint,
  transactionBuyEndpoint,
  transactionSellEndpoint,
  transactionSendEndpoint,
} from './trade.ts';
import { tokenCandlesEndpoint, tokenTradesEndpoint } from './token-history.ts';
import { tokenHoldersEndpoint, tokenInfoEndpoint, tokenSearchEndpoint } from './token.ts';
import { wsTicketEndpoint } from './ticket.ts';
import { usageEndpoint } from './usage.ts';

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
  quoteEndpoint,
  tradeBuyEndpoint,
  tradeSellEndpoint,
  transactionBuyEndpoint,
  transactionSellEndpoint,
  transactionSendEndpoint,
  paperWalletEndpoint,
  paperBalanceEndpoint,
  pumpPortalTradeEndpoint,
  pumpPortalLocalEndpoint,
  orderEndpoint,
  orderPageEndpoint,
  usageEndpoint,
  wsTicketEndpoint,
  openApiEndpoint,
  asyncApiEndpoint,
  docsEndpoint,
  docsPageEndpoint,
  docsSearchEndpoint,
  llmsEndpoint,
];
