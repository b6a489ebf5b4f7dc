package store

import (
	"context"
	"fmt"
)

func openText(ctx context.Context, path string) (*DB, error) {
	return nil, fmt.Errorf("%w: %s is not an agentrec database", ErrUnusable, path)
}
