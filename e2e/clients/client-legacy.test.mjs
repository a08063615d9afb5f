import { clientSuite } from './client.mjs'

clientSuite('legacy')
