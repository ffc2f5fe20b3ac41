// The enforcer of NetworkPolicy: upstream kube-network-policies, started with a client certificate instead of a pod's
// service account, and with one gap closed.
//
// The gap: upstream learns a pod's address from the API, and the kubelet publishes it about a second after the
// container has started. Until then the pod's packets look like a stranger's and no egress policy applies to them. So
// every new connection from the pod network first passes a second queue, which holds it until the API knows which pod
// the address belongs to, and drops it when that does not happen. See guard.go.
package main

import (
	"context"
	"flag"
	"os/signal"
	"syscall"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/kube-network-policies/pkg/networkpolicy"
)

func main() {
	server := flag.String("server", "", "address of the API server")
	ca := flag.String("ca", "", "file with the authority that signed the API server's certificate")
	cert := flag.String("cert", "", "file with the client certificate")
	key := flag.String("key", "", "file with the client certificate's key")
	node := flag.String("node", "", "name of the node whose pods are guarded")
	health := flag.String("health", "127.0.0.1:9080", "address that answers once connections are being judged")
	policyQueue := flag.Int("policy-queue", 100, "netfilter queue of connections to judge by policy")
	guardQueue := flag.Int("guard-queue", 101, "netfilter queue of connections whose pod has to be known first")
	flag.Parse()

	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()

	clients, err := kubernetes.NewForConfig(&rest.Config{
		Host:            *server,
		TLSClientConfig: rest.TLSClientConfig{CAFile: *ca, CertFile: *cert, KeyFile: *key},
	})
	if err != nil {
		klog.Fatalf("cannot make a client for %s: %v", *server, err)
	}
	factory := informers.NewSharedInformerFactory(clients, 0)
	pods := factory.Core().V1().Pods()
	// NRIdisabled stays false although no NRI is served here: v0.8.0 dereferences its plugin without looking.
	controller, err := networkpolicy.NewController(
		clients, factory.Networking().V1().NetworkPolicies(), factory.Core().V1().Namespaces(), pods,
		nil, nil, nil, nil,
		networkpolicy.Config{QueueID: *policyQueue, NodeName: *node},
	)
	if err != nil {
		klog.Fatalf("cannot make the policy controller: %v", err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())

	guard := guard{pods: pods.Informer().GetIndexer()}
	if err := guard.listen(ctx, uint16(*guardQueue)); err != nil {
		klog.Fatalf("cannot serve queue %d: %v", *guardQueue, err)
	}
	go serveHealth(*health, *policyQueue, *guardQueue)
	if err := controller.Run(ctx); err != nil {
		klog.Fatalf("policy controller: %v", err)
	}
}
