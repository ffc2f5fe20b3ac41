package main

import (
	"context"
	"net"
	"time"

	"github.com/florianl/go-nfqueue"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// The name under which the upstream controller indexes pods by address.
	podsByAddress = "podIPKeyIndex"
	lookAgain     = 20 * time.Millisecond
	// The kubelet publishes an address within about two seconds; a pod that was deleted by force never gets here.
	giveUp = 10 * time.Second
)

// guard lets a connection pass on to the policies only when its source address belongs to a pod the API knows.
type guard struct {
	pods cache.Indexer
}

func (g guard) listen(ctx context.Context, queue uint16) error {
	packets, err := nfqueue.Open(&nfqueue.Config{
		NfQueue:      queue,
		Flags:        nfqueue.NfQaCfgFlagGSO,
		MaxPacketLen: 64,
		MaxQueueLen:  4096,
		Copymode:     nfqueue.NfQnlCopyPacket,
		WriteTimeout: 100 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { packets.Close() })
	judge := func(packet nfqueue.Attribute) int {
		id, source := *packet.PacketID, sourceAddress(packet.Payload)
		if g.knows(source) {
			packets.SetVerdict(id, nfqueue.NfAccept)
			return 0
		}
		go func() {
			packets.SetVerdict(id, g.wait(ctx, source))
		}()
		return 0
	}
	return packets.RegisterWithErrorFunc(ctx, judge, func(err error) int {
		if failure, ok := err.(net.Error); !ok || !failure.Timeout() {
			klog.InfoS("cannot receive a packet", "err", err)
		}
		return 0
	})
}

func (g guard) wait(ctx context.Context, source string) int {
	for deadline := time.Now().Add(giveUp); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(lookAgain) {
		if g.knows(source) {
			return nfqueue.NfAccept
		}
	}
	klog.InfoS("dropped a connection from an address that belongs to no pod", "source", source)
	return nfqueue.NfDrop
}

// knows ignores finished pods: their addresses may already belong to somebody new.
func (g guard) knows(address string) bool {
	found, err := g.pods.ByIndex(podsByAddress, address)
	if err != nil {
		return false
	}
	for _, item := range found {
		pod := item.(*corev1.Pod)
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			return true
		}
	}
	return false
}

func sourceAddress(packet *[]byte) string {
	if packet == nil || len(*packet) < 20 {
		return ""
	}
	return net.IP((*packet)[12:16]).String()
}
