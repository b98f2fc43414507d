package session

import "context"

// Renew logs the user in again, as a guard does.
func (s *Session) Renew(ctx context.Context) error {
	fresh, err := s.again(ctx)
	if err == nil {
		s.Become(fresh)
	}
	return err
}
