package store

import (
	"context"
	"database/sql"
	"sync"
)

// pool is connections for reading that keep the statements they were asked for:
// SQLite takes 30 to 50 µs to understand one, as long as it takes to find a frame.
type pool struct {
	*sql.DB
	mu   sync.Mutex
	kept map[string]*sql.Stmt
}

// mostStatements bounds the statements; all of this package are fewer.
const mostStatements = 64

func newPool(db *sql.DB) *pool { return &pool{DB: db, kept: map[string]*sql.Stmt{}} }

// statement returns the statement of a query, nil when it cannot be kept.
func (p *pool) statement(ctx context.Context, query string) *sql.Stmt {
	p.mu.Lock()
	s, room := p.kept[query], len(p.kept) < mostStatements
	p.mu.Unlock()
	if s != nil || !room {
		return s
	}
	s, err := p.DB.PrepareContext(ctx, query)
	if err != nil {
		return nil // asking without it tells why
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.kept[query]; other != nil {
		s.Close()
		return other
	}
	p.kept[query] = s
	return s
}

// QueryContext is that of sql.DB.
func (p *pool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s := p.statement(ctx, query); s != nil {
		return s.QueryContext(ctx, args...)
	}
	return p.DB.QueryContext(ctx, query, args...)
}

// QueryRowContext is that of sql.DB.
func (p *pool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := p.statement(ctx, query); s != nil {
		return s.QueryRowContext(ctx, args...)
	}
	return p.DB.QueryRowContext(ctx, query, args...)
}
