package account

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
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
	hashesAtOnce = 2 // limits the memory and processors that logins use
	minPassword  = 10
	maxPassword  = 1024
)

// hashPassword is the argon2id hash of a password as a PHC string.
func (a *Accounts) hashPassword(ctx context.Context, password string) (string, error) {
	if len(password) < minPassword || len(password) > maxPassword {
		return "", errs.Field("password", "password must have %d to %d bytes.", minPassword, maxPassword)
	}
	salt := ids.Secret(argonSalt)
	key, err := a.argon(ctx, password, salt, argonTime, argonMemory, argonThreads)
	if err != nil {
		return "", err
	}
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		b64.EncodeToString(salt), b64.EncodeToString(key)), nil
}

// passwordMatches compares a password with a PHC string. An empty or unknown hash costs the same time as a
// wrong password, so that the time does not reveal who has a password.
func (a *Accounts) passwordMatches(ctx context.Context, password, phc string) (bool, error) {
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
	got, err := a.argon(ctx, password, salt, passes, memory, threads)
	return err == nil && subtle.ConstantTimeCompare(got, want) == 1, err
}

func (a *Accounts) argon(ctx context.Context, password string, salt []byte, passes, memory, threads int) ([]byte, error) {
	select {
	case a.hashing <- struct{}{}:
		defer func() { <-a.hashing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return argon2.IDKey([]byte(password), salt, uint32(passes), uint32(memory), uint8(threads), argonKey), nil
}
