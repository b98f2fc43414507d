import { useQuery } from '@tanstack/react-query'
import { body, platform, team, type Platform } from './api'

export type Me = Platform['UserProfile']

/** Who is signed in, in the team of this page. */
export function useMe() {
  return useQuery({ queryKey: ['me', team.id], queryFn: () => body(platform.GET('/v1/user')), staleTime: 60_000, retry: false })
}

/** What the role in this team allows. The server decides; this is what the console offers. */
export function useRole() {
  const { data } = useMe()
  const role = data?.role ?? 'GUEST'
  return {
    role,
    writes: !data?.is_read_only && (role === 'OWNER' || role === 'ADMIN' || role === 'MEMBER'),
    admin: role === 'OWNER' || role === 'ADMIN',
    insider: role !== 'GUEST',
  }
}
