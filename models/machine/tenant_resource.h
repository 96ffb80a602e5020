// A resource that the tenants of a GPU meet at, as one of them sees it. In a real machine it is one resource of the
// network. In a counterfactual one (models/platform/interference.h) it is two, both used alike: what all tenants ask
// for together, and what this one does; each of bandwidth, latency and power is then a matter of the one or of the
// other.
#pragma once

#include "models/machine/usage_list.h"
#include "models/platform/interference.h"
#include "sim/resource_network.h"

namespace c3sim::models {

class TenantResource {
 public:
  // What each tenant has as if it were alone.
  struct Apart {
    bool bandwidth = false;
    bool latency = false;
    bool power = false;
  };
  // A tenant whose bandwidth is apart has `own_share` of the resource.
  TenantResource(sim::ResourceNetwork& network, sim::ResourceSpec spec, Apart apart, double own_share = 1.0);
  // The same resource as another tenant sees it.
  TenantResource seen_by_another(sim::ResourceNetwork& network, double own_share = 1.0) const;

  void add(UsageList& usages, double amount) const {
    usages.add(together_, amount);
    if (own_ != together_) usages.add(own_, amount);
  }
  // Whose latency the tenant waits for, and whose load costs it power.
  sim::ResourceId latency() const { return apart_.latency ? own_ : together_; }
  sim::ResourceId power() const { return apart_.power ? own_ : together_; }

 private:
  sim::ResourceSpec spec_;
  Apart apart_;
  sim::ResourceId together_;
  sim::ResourceId own_;
};

}  // namespace c3sim::models
