package api

import (
	"context"

	"atoll/guest/agent/internal/fileops"
)

func copyFile(ctx context.Context, request moveRequest) error {
	if err := required(request.From, request.To); err != nil {
		return err
	}
	return fileops.Copy(ctx, request.From.absolute(), request.To.absolute())
}
