package blob

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Digest is the SHA-256 of a blob. As bytes, it cannot name any other file.
type Digest [sha256.Size]byte

// String is the digest in 64 lower-case hexadecimal characters.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest parses the result of String; anything else is errs.Invalid for the parameter digest.
func ParseDigest(text string) (Digest, error) {
	var d Digest
	if len(text) == hex.EncodedLen(len(d)) {
		if _, err := hex.Decode(d[:], []byte(text)); err == nil && d.String() == text {
			return d, nil
		}
	}
	return Digest{}, errs.Field("digest", "A digest is 64 lower-case hexadecimal characters.")
}
