"""WhatsApp on the owner's phone: what its screens say, and the few things that are done on them."""
