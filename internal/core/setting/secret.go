package setting

// Seal seals a secret of a team; what says of which kind, and is needed to open it.
func (s *Settings) Seal(teamID, what string, text []byte) ([]byte, error) {
	return s.box.Seal(text, what+" "+teamID)
}

// Open is what Seal sealed.
func (s *Settings) Open(teamID, what string, sealed []byte) ([]byte, error) {
	return s.box.Open(sealed, what+" "+teamID)
}
