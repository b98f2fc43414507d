package session

import (
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // RFC 6238 says so
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// secondFactor answers the page after the password, if that asks for a one-time code.
func (s *Session) secondFactor(ctx context.Context, page *message.Response) (*message.Response, error) {
	for _, r := range sitemap.Forms(page) {
		for _, p := range message.Places(r) {
			if (p.Component != message.Body && p.Component != message.Query) || !otpField.MatchString(p.Name) {
				continue
			}
			code, err := oneTimeCode(s.TOTP, s.client.Now())
			if err != nil {
				return nil, err
			}
			return s.follow(ctx, r.Put(p, code), s.User)
		}
	}
	return page, nil
}

// oneTimeCode is the code of six digits of a secret at a time (RFC 6238).
func oneTimeCode(secret string, at time.Time) (string, error) {
	text := strings.ToUpper(strings.NewReplacer(" ", "", "-", "", "=", "").Replace(secret))
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(text)
	if err != nil {
		return "", errors.New("the secret of one-time codes is not base32")
	}
	mac := hmac.New(sha1.New, key)
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], uint64(at.Unix()/30))
	mac.Write(counter[:])
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 15
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[offset:])&0x7fffffff%1_000_000), nil
}
