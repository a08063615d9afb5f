import { clientSuite } from './client.mjs'

clientSuite('auto')
