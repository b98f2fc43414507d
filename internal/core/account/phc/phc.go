// Package phc hashes passwords with argon2id, as PHC strings.
package phc

import (
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/ids"
	"golang.org/x/crypto/argon2"
)

// The cost of a password hash: OWASP's argon2id profile of 19 MiB, two passes.
const (
	argonMemory  = 19 * 1024 // KiB
	argonTime    = 2
	argonThreads = 1
	argonKey     = 32
	argonSalt    = 16
	maxPassword  = 1024 // bytes; a longer one matches nothing
)

// Hash is the PHC string of a password, with a new salt.
func Hash(password string) string {
	salt := ids.Secret(argonSalt)
	key := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonKey)
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		b64.EncodeToString(salt), b64.EncodeToString(key))
}

// Matches compares a password with a PHC string. An empty or unknown hash takes the same time, so that
// the time reveals nothing.
func Matches(password, phc string) bool {
	if len(password) > maxPassword {
		password = ""
	}
	var version, memory, passes, threads int
	salt, want := make([]byte, argonSalt), []byte(nil)
	parts := strings.Split(phc, "$")
	if len(parts) == 6 && parts[1] == "argon2id" {
		_, err1 := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &passes, &threads)
		s, err2 := base64.RawStdEncoding.DecodeString(parts[4])
		k, err3 := base64.RawStdEncoding.DecodeString(parts[5])
		bounded := passes >= 1 && passes <= 16 && memory >= 8 && memory <= 1<<20 && threads >= 1 && threads <= 16
		if err1 == nil && err2 == nil && err3 == nil && version == argon2.Version && len(k) == argonKey && bounded {
			salt, want = s, k
		}
	}
	if want == nil {
		memory, passes, threads = argonMemory, argonTime, argonThreads
	}
	got := argon2.IDKey([]byte(password), salt, uint32(passes), uint32(memory), uint8(threads), argonKey)
	return subtle.ConstantTimeCompare(got, want) == 1
}
