// Package shot takes screenshots of pages with the installed browser (package browser).
package shot

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
)

const (
	maxPicture = 4 << 20 // bytes of PNG
	pageTime   = 20 * time.Second
	settleTime = 5 * time.Second // for a page to load; then it is taken as it is
	atATime    = 2
)

// ErrNone is the error where no browser is installed.
var ErrNone = browser.ErrNone

// Browser is a running browser. Close it.
type Browser struct {
	pool *browser.Pool
	dial func(ctx context.Context, addr string) (net.Conn, error)
}

// Start starts the browser at path, or one of PATH when it is "". dial makes its
// connections. The error is ErrNone where there is none.
func Start(
	ctx context.Context, path string, dial func(ctx context.Context, addr string) (net.Conn, error),
) (*Browser, error) {
	b := &Browser{browser.New(browser.Config{Path: path, Pages: atATime, Nobody: true}), dial}
	page, err := b.open(ctx)
	if err != nil {
		b.Close()
		return nil, err
	}
	page.Close()
	return b, nil
}

func (b *Browser) open(ctx context.Context) (*browser.Page, error) {
	return b.pool.Open(ctx, browser.Options{
		ReadOnly: true, Timeout: pageTime,
		Dial: func(ctx context.Context, _, addr string) (net.Conn, error) { return b.dial(ctx, addr) },
	})
}

// Take gives a screenshot of the page at an http or https URL, as PNG.
func (b *Browser) Take(ctx context.Context, url string) ([]byte, error) {
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return nil, errors.New("only web pages are shown")
	}
	page, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	defer page.Close()
	if err := page.Navigate(url); err != nil {
		return nil, err
	}
	// A page that loads for ever is taken as far as it has come.
	if err := page.Wait("load", settleTime); err != nil {
		return nil, err
	}
	picture, err := page.Screenshot(false)
	if err != nil {
		return nil, err
	}
	if len(picture) > maxPicture {
		return nil, errors.New("the picture is larger than 4 MiB")
	}
	return picture, nil
}

// Close ends the browser, and removes what it wrote.
func (b *Browser) Close() { b.pool.Close() }
