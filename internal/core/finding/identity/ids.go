package identity

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// ID is the id of the finding with a hash in a scan: 26 of [0-9a-v]. It begins with a part of the hash: a severity that
// is given to one finding holds for its hash in all scans.
func ID(scanID, hash string) string {
	sum := sha256.Sum256([]byte(hash))
	scan := sha256.Sum256([]byte(scanID))
	return base32Text(sum[:])[:Letters] + base32Text(scan[:])[:10]
}

// Letters is how many letters of an id the hash decides.
const Letters = 16

// base32Text are bytes in [0-9a-v].
func base32Text(b []byte) string { return strings.ToLower(base32.HexEncoding.EncodeToString(b)) }
