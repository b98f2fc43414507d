import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './api'

/** What was read of the server, for all screens. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // A refusal stays one; what did not arrive is asked for again.
      retry: (n, e) => n < 2 && !(e instanceof ApiError && e.status >= 400 && e.status < 500),
    },
  },
})
