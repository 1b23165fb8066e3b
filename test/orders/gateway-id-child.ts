import { takeGatewayId } from '@sluice/gateway/store/gateway-id.ts';

/** A gateway that takes its id, reports it, and lives until it is killed. */
const { id } = takeGatewayId(process.argv[2] ?? '');
process.stdout.write(`${id}\n`);
setInterval(() => undefined, 60_000);
